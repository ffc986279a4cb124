// Whether values are alike.
#pragma once

#include <span>

#include "analyze/statistics/statistics.h"

namespace genscope::analysis {

// Their coefficient of variation is at most this; of two values or more.
inline constexpr double kAlike = 0.35;

inline bool are_alike(std::span<const double> values) {
  if (values.size() < 2) return false;
  const stats::Description all = stats::describe(values);
  return all.cv && *all.cv <= kAlike;
}

}  // namespace genscope::analysis
