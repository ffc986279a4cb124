// Stopping on width. The width of an interval says nothing of where it lies, so that looking at it
// after each run leaves its coverage as it is (measured: 94.9 % at a nominal 95 %).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"

namespace genscope {
namespace {

// Half widths on the scale of logarithms, `wanted` too.
StopDecision decide_width(std::optional<double> half, double wanted, std::size_t runs,
                          const StopOptions& options) {
  StopDecision decision;
  if (half) decision.half_width = std::expm1(*half);
  if (runs < options.least) {
    decision.more = options.least - runs;
    decision.reason = fmt::format("{} more of the {} runs that any interval needs", *decision.more,
                                  options.least);
    return decision;
  }
  if (half && *half <= wanted) {
    decision.stop = decision.precise = true;
    decision.reason =
        fmt::format("the interval is narrow enough: +-{:.3g} %", *decision.half_width * 100);
    return decision;
  }
  if (runs >= options.most) {
    decision.stop = true;
    decision.reason =
        half ? fmt::format(
                   "all {} runs are spent; the interval is +-{:.3g} %, "
                   "+-{:.3g} % was wanted",
                   options.most, *decision.half_width * 100, std::expm1(wanted) * 100)
             : fmt::format("all {} runs are spent, and there is no interval", options.most);
    return decision;
  }
  const std::size_t left = options.most - runs;
  decision.more = left;
  if (half && wanted > 0) {
    const double times = std::pow(*half / wanted, 2);
    const double more = std::ceil(static_cast<double>(runs) * (times - 1));
    if (more < static_cast<double>(left)) {
      decision.more = static_cast<std::uint64_t>(std::max(1.0, more));
    }
  }
  decision.reason = half ? fmt::format("the interval is +-{:.3g} %, +-{:.3g} % is wanted",
                                       *decision.half_width * 100, std::expm1(wanted) * 100)
                         : "no interval yet";
  return decision;
}

}  // namespace

StopDecision decide_stop(const Judgement& judgement, const StopOptions& options) {
  const std::size_t runs = std::min(judgement.before_n, judgement.after_n);
  if (judgement.verdict == Verdict::incomparable) {
    StopDecision decision;
    decision.stop = true;
    decision.reason = judgement.reason;
    return decision;
  }
  double wanted = std::log1p(options.half_width.value_or(judgement.floor / 2));
  std::optional<double> half;
  if (judgement.interval && judgement.ratio) {
    half = (std::log(judgement.interval->high) - std::log(judgement.interval->low)) / 2;
    wanted = std::max(wanted, options.share_of_effect * std::fabs(std::log(*judgement.ratio)));
  }
  if (judgement.by_own_time && judgement.own_time_interval) {  // its width is what decides
    half =
        (std::log(judgement.own_time_interval->high) - std::log(judgement.own_time_interval->low)) /
        2;
    wanted = std::log1p(options.half_width.value_or(judgement.floor / 2));
    if (judgement.own_time_ratio) {
      wanted = std::max(wanted,
                        options.share_of_effect * std::fabs(std::log(*judgement.own_time_ratio)));
    }
  }
  return decide_width(half, wanted, runs, options);
}

StopDecision decide_stop(std::span<const double> values, const StopOptions& options,
                         double confidence) {
  std::optional<double> half;
  const std::optional<stats::Interval> interval = stats::median_interval(values, confidence);
  const std::optional<double> median = stats::quantile(values, 0.5);
  if (interval && median && *median > 0) {
    half = std::log1p((interval->high - interval->low) / 2 / *median);
  }
  return decide_width(half, std::log1p(options.half_width.value_or(0.02)), values.size(), options);
}

}  // namespace genscope
