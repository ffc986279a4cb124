#include "bench/output/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "report/format.h"

namespace genscope::bench {
namespace {

constexpr std::string_view kNone = "-";
constexpr double kFactor = 2;  // from here on a change is a factor, not a percentage

std::string times_text(double times) {
  return fmt::format("{:.{}f}", times, times >= 100 ? 0 : times >= 10 ? 1 : 2);
}

// Of one end of an interval, in the words that the middle has.
std::string speed_figure(double ratio, bool factor, bool faster) {
  if (factor) return times_text(faster ? 1 / ratio : ratio);
  const double percent = (faster ? 1 - ratio : ratio - 1) * 100;
  return (percent < 0 ? "-" : "") + percent_text(std::fabs(percent));
}

}  // namespace

std::string figure(std::string_view metric_name, double value) {
  if (!std::isfinite(value)) return report::number(value);
  const Metric known = metric(metric_name);
  if (value < 0 && (known.unit == "s" || known.unit == "bytes" || known.unit == "J")) {
    return "-" + figure(metric_name, -value);
  }
  if (known.unit == "s") return report::duration(value * 1e9);
  if (known.unit == "bytes" && value < 9e18) {
    return report::bytes(static_cast<std::uint64_t>(std::llround(value)));
  }
  if (known.unit == "J") return report::energy(value);
  if (metric_name.ends_with("_ratio")) return share_text(value);
  if (known.unit == "USD") return fmt::format("{:.3g} USD", value);
  const std::string number = report::number(value);
  return known.unit.empty() ? number : fmt::format("{} {}", number, known.unit);
}

std::string signed_figure(std::string_view metric_name, double value) {
  if (value == 0) return "0";
  return (value < 0 ? "-" : "+") + figure(metric_name, std::fabs(value));
}

std::string interval_words(std::string_view metric_name,
                           const std::optional<stats::Interval>& interval) {
  if (!interval) return std::string(kNone);
  return fmt::format("{} to {}", figure(metric_name, interval->low),
                     figure(metric_name, interval->high));
}

std::string percent_text(double percent) {
  return fmt::format("{:.{}f}", percent, std::fabs(percent) >= 0.995 ? 1 : 2);
}

std::string share_text(double ratio) { return percent_text(ratio * 100) + " %"; }

std::string change_text(double ratio) {
  if (!std::isfinite(ratio)) return std::string(kNone);
  if (ratio >= kFactor) return times_text(ratio) + " x";
  if (ratio <= 1 / kFactor) return "1/" + times_text(1 / ratio);
  const double percent = (ratio - 1) * 100;
  return (percent < 0 ? "-" : "+") + share_text(std::fabs(ratio - 1));
}

std::string interval_text(const stats::Interval& ratio) {
  std::string low = change_text(ratio.low);
  const std::string high = change_text(ratio.high);
  for (const std::string_view unit : {" %", " x"}) {  // once is enough
    if (low.ends_with(unit) && high.ends_with(unit)) low.erase(low.size() - unit.size());
  }
  return low + " to " + high;
}

std::string change_words(const Comparison& c) {
  if (c.judgement.ratio) return change_text(*c.judgement.ratio);
  if (c.judgement.difference) return signed_figure(c.metric, *c.judgement.difference);
  return std::string(kNone);
}

std::string interval_words(const Comparison& c) {
  const Judgement& j = c.judgement;
  if (j.interval) return interval_text(*j.interval);
  if (!j.difference_interval) return std::string(kNone);
  return fmt::format("{} to {}", signed_figure(c.metric, j.difference_interval->low),
                     signed_figure(c.metric, j.difference_interval->high));
}

std::string speed_text(double ratio) {
  const bool faster = ratio < 1;
  const bool factor = ratio >= kFactor || ratio <= 1 / kFactor;
  const std::string figure = speed_figure(ratio, factor, faster);
  if (factor) return figure + (faster ? " x as fast" : " x as slow");
  return figure + (faster ? " % faster" : " % slower");
}

std::string speed_text(double ratio, const stats::Interval& interval, double confidence) {
  const bool faster = ratio < 1;
  const bool factor = ratio >= kFactor || ratio <= 1 / kFactor;
  return fmt::format("{} ({:g} %: {} to {})", speed_text(ratio), confidence * 100,
                     speed_figure(faster ? interval.high : interval.low, factor, faster),
                     speed_figure(faster ? interval.low : interval.high, factor, faster));
}

}  // namespace genscope::bench
