// Arithmetic on nanoseconds that stays defined for any bits a damaged trace may hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace genscope::analysis {

inline constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

// A number of nanoseconds as one that fits; 0 for what is no number.
inline std::int64_t nearest_ns(double ns) noexcept {
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  if (ns >= kEnd) return kLatest;
  if (ns < -kEnd) return kEarliest;
  return ns == ns ? static_cast<std::int64_t>(ns) : 0;
}

// a + b, or the nearest value that fits.
inline std::int64_t add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) [[likely]] {
    return sum;
  }
  return b > 0 ? kLatest : kEarliest;
}

// a - b, or the nearest value that fits.
inline std::int64_t subtract(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) [[likely]] {
    return difference;
  }
  return b < 0 ? kLatest : kEarliest;
}

inline double seconds(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }

// A half-open interval [begin, end) with begin <= end.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t length() const noexcept { return subtract(end, begin); }
};

inline Interval interval(std::int64_t begin, std::int64_t duration) noexcept {
  return {begin, add(begin, std::max<std::int64_t>(duration, 0))};
}

inline std::int64_t overlap(Interval a, Interval b) noexcept {
  const Interval both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.begin < both.end ? both.length() : 0;
}

// The first place from `from` on of which `is` holds, or `size`: `is` must be false up to some
// place and true from there on. The cost grows with the square of the logarithm of the distance: a
// sweep of ever later places is linear, one of few far places does not walk.
template <class Is>
std::size_t gallop(std::size_t size, std::size_t from, Is&& is) {
  std::size_t step = 1;
  while (from < size && !is(from)) {
    const std::size_t far = from + step;
    if (far < size && !is(far)) {
      from = far;
      step *= 2;
    } else if (step > 1) {
      step = 1;
    } else {
      return std::min(far, size);
    }
  }
  return std::min(from, size);
}

// Length of the union of intervals that are added in the order of their begins. Overlap counts
// once; a begin out of order never counts twice, though what it alone covers may be missed.
class Coverage {
 public:
  // How much `next` adds to the union.
  std::int64_t add(Interval next) noexcept {
    const std::int64_t from = std::max(next.begin, until_);
    if (next.end <= from) return 0;
    until_ = next.end;
    return subtract(next.end, from);
  }

 private:
  std::int64_t until_ = kEarliest;
};

}  // namespace genscope::analysis
