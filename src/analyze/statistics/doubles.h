// Doubles as integers of the same order, so that bisection over them ends after 64 halvings
// whatever their magnitude.
#pragma once

#include <bit>
#include <cstdint>

namespace genscope::stats {

// a < b as doubles if and only if ordinal(a) < ordinal(b); -0.0 and 0.0 are the same.
constexpr std::int64_t ordinal(double value) noexcept {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits >= 0 ? bits : INT64_MIN - bits;
}

constexpr double from_ordinal(std::int64_t ordinal) noexcept {
  return std::bit_cast<double>(ordinal >= 0 ? ordinal : INT64_MIN - ordinal);
}

// Rounded down; the distance of two doubles may not fit in 63 bits.
constexpr std::int64_t middle_of(std::int64_t low, std::int64_t high) noexcept {
  return low + static_cast<std::int64_t>(
                   (static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low)) / 2);
}

// The smallest double of [low, high] at which `reached` holds; it holds from some place on.
template <class Reached>
double first_where(double low, double high, Reached reached) noexcept {
  std::int64_t from = ordinal(low), to = ordinal(high);
  while (from < to) {
    const std::int64_t middle = middle_of(from, to);
    if (reached(from_ordinal(middle))) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from_ordinal(from);
}

}  // namespace genscope::stats
