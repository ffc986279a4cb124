// What the functions of inference.h ask of their arguments.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "analyze/statistics/order.h"

namespace genscope::stats {

inline bool some_finite(std::span<const double> samples) noexcept {
  return !samples.empty() && all_finite(samples);
}

// Strictly between 0 and 1: a level, a percentile, a power.
inline bool inside_unit(double share) noexcept { return share > 0 && share < 1; }

inline std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace genscope::stats
