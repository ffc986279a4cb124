#include "bench/validate/column.h"

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"

namespace genscope::bench {

std::optional<double> median_of(std::span<const double> values) {
  return stats::quantile(values, 0.5);
}

std::optional<stats::Interval> median_interval_of(std::span<const double> values) {
  return stats::median_interval(values);
}

std::optional<TargetScore> score_target(double target, double measured, Direction direction,
                                        const std::optional<stats::Interval>& interval) {
  return target_score(target, measured, direction, interval);
}

std::optional<PartChange> difference_of(std::span<const double> before,
                                        std::span<const double> after, bool paired) {
  const std::optional<Attribution> found = attribute(before, after, {}, paired);
  if (!found) return std::nullopt;
  return found->total;
}

}  // namespace genscope::bench
