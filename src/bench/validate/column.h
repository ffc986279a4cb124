// One column of figures of prompted calls, and how it is judged: for the tables and targets of
// `bench e2e` and `bench vlm`.
#pragma once

#include <optional>
#include <span>

#include <genscope/bench.h>

namespace genscope::bench {

std::optional<double> median_of(std::span<const double> values);
// Distribution-free; nothing with fewer than 6 values at 95 %.
std::optional<stats::Interval> median_interval_of(std::span<const double> values);
// Against a target. Nothing for values that are not finite or below 0.
std::optional<TargetScore> score_target(double target, double measured, Direction direction,
                                        const std::optional<stats::Interval>& interval);
// The difference of two columns of totals, after less before. Nothing where one is empty.
std::optional<PartChange> difference_of(std::span<const double> before,
                                        std::span<const double> after, bool paired);

}  // namespace genscope::bench
