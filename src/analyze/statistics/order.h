// Places in an order: what quantiles, medians and ranks share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace genscope::stats {

// No NaN, no infinity.
bool all_finite(std::span<const double> values) noexcept;

// The place ceil(p n), from 1, of the nearest rank; 1 <= place <= n. A product that rounding pushed
// past a whole number counts as that number: 0.07 of 100 is 7, not 8.
std::uint64_t nearest_place(double p, std::uint64_t n) noexcept;

// The value `position` (from 0, may be between two) of sorted, non-empty values.
double at_position(std::span<const double> sorted, double position) noexcept;

// Half way between the two middle values, without overflow. Not empty. Reorders `values`.
double median_in_place(std::span<double> values) noexcept;

// The value or, if it is not finite, nothing.
inline std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace genscope::stats
