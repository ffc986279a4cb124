// Pairs out of order, counted and listed by merge sort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace genscope::stats {

// Sorts `values` ascending and returns the number of pairs i < j with values[i] > values[j].
// O(n log n). `scratch` is grown to the same size.
template <class T, class Less>
std::uint64_t sort_counting(std::span<T> values, std::vector<T>& scratch, Less less) {
  const std::size_t n = values.size();
  scratch.resize(n);
  T* from = values.data();
  T* to = scratch.data();
  std::uint64_t count = 0;
  for (std::size_t width = 1; width < n; width *= 2) {
    for (std::size_t begin = 0; begin < n; begin += 2 * width) {
      std::size_t i = begin, j = std::min(begin + width, n), k = begin;
      const std::size_t middle = j, end = std::min(begin + 2 * width, n);
      while (i < middle && j < end) {
        // Arithmetic instead of a branch, which would be mispredicted half of the time.
        const std::size_t right = less(from[j], from[i]) ? 1 : 0;
        to[k++] = from[i + (j - i) * right];
        count += (middle - i) * right;
        j += right;
        i += 1 - right;
      }
      std::copy(from + i, from + middle, to + k);
      std::copy(from + j, from + end, to + k + (middle - i));
    }
    std::swap(from, to);
  }
  if (from != values.data()) std::copy(from, from + n, values.data());
  return count;
}

// As sort_counting, and calls visit(a, b) for each such pair, a before b in `values` and b < a.
// O(n log n + pairs).
template <class T, class Less, class Visit>
void sort_visiting(std::span<T> values, Less less, Visit visit) {
  const std::size_t n = values.size();
  std::vector<T> scratch(n);
  for (std::size_t width = 1; width < n; width *= 2) {
    for (std::size_t begin = 0; begin < n; begin += 2 * width) {
      std::size_t i = begin, j = std::min(begin + width, n), k = begin;
      const std::size_t middle = j, end = std::min(begin + 2 * width, n);
      while (i < middle || j < end) {
        const bool right = i == middle || (j < end && less(values[j], values[i]));
        if (right) {
          for (std::size_t passed = i; passed < middle; ++passed) visit(values[passed], values[j]);
        }
        scratch[k++] = right ? values[j++] : values[i++];
      }
    }
    std::copy(scratch.begin(), scratch.end(), values.begin());
  }
}

}  // namespace genscope::stats
