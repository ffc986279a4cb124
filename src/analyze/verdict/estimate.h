// The change of a figure on one scale, with its interval, and how sure it is beyond a floor.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "analyze/verdict/verdict.h"

namespace genscope::analysis {

struct Estimate {
  JudgeMethod method = JudgeMethod::none;
  double center = 0;
  std::optional<stats::Interval> interval;  // absent: too few runs
  double p_value = 1, p_floor = 1;
  double df = 1;  // of a normal sample that says as much
  std::optional<double> pair_correlation;
};

// Values on a scale where a change is a difference (logarithms for ratios), `floor` on that scale.
// Both sides have finite values, at least one each.
Estimate estimate(std::span<const double> before, std::span<const double> after, double floor,
                  const JudgeOptions& options);

}  // namespace genscope::analysis
