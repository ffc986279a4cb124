// Which interval: pairs whose sides move together (Spearman's rho above 0.5: drift, a shared load)
// are judged pair by pair with the sign test's interval, which a drift of any shape does not widen;
// all else by Hodges-Lehmann, which uses every pair of runs and is narrower. p_floor is dual to the
// interval: it is below 1 - confidence where the interval lies beyond the floor. O(n log n) but for
// the exact Mann-Whitney distribution of few runs.
#include "analyze/verdict/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"

namespace genscope::analysis {
namespace {

constexpr double kTogether = 0.5;
constexpr double kLevelRounding = 1e-9;

// Twice the one-sided p of "after exceeds before" or the reverse.
double doubled_tail(const stats::MannWhitney& test, bool greater) {
  const std::optional<double> exact = greater ? test.p_greater : test.p_less;
  if (exact) return std::min(1.0, 2 * *exact);
  const bool that_side = greater == (test.a12 > 0.5);
  return that_side ? test.p_normal : std::min(1.0, 2 - test.p_normal);
}

void by_pairs(std::span<const double> before, std::span<const double> after, double floor,
              double confidence, Estimate& e) {
  std::vector<double> differences(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) differences[i] = after[i] - before[i];
  e.method = JudgeMethod::paired_sign;
  e.interval = stats::median_interval(differences, confidence);
  e.df = static_cast<double>(before.size()) - 1;
  const auto n = static_cast<double>(differences.size());
  const auto tail = [&](double limit, bool above) {  // pairs that speak against it
    const auto against = std::count_if(differences.begin(), differences.end(),
                                       [&](double d) { return above ? d <= limit : d >= limit; });
    return std::min(1.0, 2 * stats::binomial_cdf(static_cast<double>(against), n, 0.5));
  };
  e.center = stats::median_in_place(differences);
  e.p_value = stats::paired_tests(before, after)->sign.p_value;
  e.p_floor = e.center >= 0 ? tail(floor, true) : tail(-floor, false);
}

void by_shift(std::span<const double> before, std::span<const double> after, double floor,
              double confidence, Estimate& e) {
  const stats::Shift shift = *stats::shift(before, after, confidence);
  e.method = JudgeMethod::hodges_lehmann;
  e.center = shift.estimate;
  e.df = std::max(1.0, static_cast<double>(before.size() + after.size()) - 2);
  e.p_value = shift.p_value;
  if (shift.confidence >= confidence - kLevelRounding) {
    e.interval = stats::Interval{shift.low, shift.high, shift.confidence};
  }
  std::vector<double> moved(after.begin(), after.end());
  for (double& value : moved) value -= e.center >= 0 ? floor : -floor;
  e.p_floor = doubled_tail(*stats::mann_whitney(before, moved), e.center >= 0);
}

// Welch's interval of after - before, if the sides lie apart, or if it is within the floor.
void by_student(std::span<const double> before, std::span<const double> after, double floor,
                double confidence, Estimate& e) {
  const std::optional<stats::TTest> test = stats::welch_test(before, after, confidence);
  if (!test) return;
  const stats::Interval interval{-test->interval.high, -test->interval.low, confidence};
  const auto [b0, b1] = std::minmax_element(before.begin(), before.end());
  const auto [a0, a1] = std::minmax_element(after.begin(), after.end());
  const bool apart = *b1 < *a0 || *a1 < *b0;
  const bool inside = interval.low >= -floor && interval.high <= floor;
  const bool beyond = interval.low > floor || interval.high < -floor;
  if (beyond && !apart) return;
  e.method = JudgeMethod::student;
  e.center = -test->difference;
  e.interval = interval;
  e.df = test->df;
  e.p_value = test->p_value;
  const double error = std::fabs(test->difference / test->t);
  e.p_floor = inside || !(error > 0)
                  ? 1
                  : stats::t_two_sided(std::max(0.0, std::fabs(e.center) - floor) / error, e.df);
}

}  // namespace

Estimate estimate(std::span<const double> before, std::span<const double> after, double floor,
                  const JudgeOptions& options) {
  Estimate e;
  const bool pairs = options.paired && before.size() == after.size();
  if (pairs) e.pair_correlation = stats::spearman(before, after);
  const bool enough = before.size() >= stats::least_for_median(options.confidence);
  if (e.pair_correlation && *e.pair_correlation > kTogether && enough) {
    by_pairs(before, after, floor, options.confidence, e);
    return e;
  }
  by_shift(before, after, floor, options.confidence, e);
  if (!e.interval && options.few_by_student && before.size() > 1 && after.size() > 1) {
    by_student(before, after, floor, options.confidence, e);
  }
  return e;
}

}  // namespace genscope::analysis
