// A difference of means is the sum of the differences of its parts; medians do not add up. What no
// part covers is "outside", taken run by run, so that it has an interval of its own. A part made of
// steps splits once more: D = n s, and n' s' - n s = (n' - n) (s + s') / 2 + (s' - s) (n + n') / 2,
// exactly. O(runs) a part.
#include <fmt/format.h>

#include <cmath>

#include "analyze/inference/inference.h"
#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/verdict.h"

namespace genscope {
namespace {

struct Columns {
  std::span<const double> before, after;
};

std::optional<stats::Interval> difference_interval(const Columns& c, bool paired,
                                                   double confidence) {
  const std::optional<stats::TTest> test = [&]() -> std::optional<stats::TTest> {
    if (!paired) return stats::welch_test(c.before, c.after, confidence);
    const auto tests = stats::paired_tests(c.before, c.after, confidence);
    return tests ? tests->student : std::nullopt;
  }();
  if (test) return stats::Interval{-test->interval.high, -test->interval.low, confidence};
  if (c.before.size() < 2 || c.after.size() < 2) return std::nullopt;
  // Nothing varies: the difference is what it is.
  const double difference = *stats::describe(c.after).mean - *stats::describe(c.before).mean;
  return stats::Interval{difference, difference, confidence};
}

PartChange change_of(std::string part, const Columns& c, bool paired, double confidence) {
  PartChange change;
  change.name = std::move(part);
  change.before = *stats::describe(c.before).mean;
  change.after = *stats::describe(c.after).mean;
  change.difference = change.after - change.before;
  change.interval = difference_interval(c, paired, confidence);
  return change;
}

std::vector<double> per_step(std::span<const double> times, std::span<const double> steps) {
  std::vector<double> each;
  for (std::size_t i = 0; i < times.size(); ++i) each.push_back(times[i] / steps[i]);
  return each;
}

bool counts_fit(const PartSamples& part) {
  const auto above_zero = [](std::span<const double> steps) {
    for (const double count : steps) {
      if (!(count > 0) || !std::isfinite(count)) return false;
    }
    return !steps.empty();
  };
  return part.before_steps.size() == part.before.size() && above_zero(part.before_steps) &&
         part.after_steps.size() == part.after.size() && above_zero(part.after_steps);
}

void scale(std::optional<stats::Interval>& interval, double factor) {
  if (!interval) return;
  interval->low *= factor;
  interval->high *= factor;
  if (interval->low > interval->high) std::swap(interval->low, interval->high);
}

void split_steps(const PartSamples& part, bool paired, double confidence, PartChange& whole) {
  const std::vector<double> before = per_step(part.before, part.before_steps);
  const std::vector<double> after = per_step(part.after, part.after_steps);
  PartChange each = change_of("per step", {before, after}, paired, confidence);
  PartChange count = change_of("steps", {part.before_steps, part.after_steps}, paired, confidence);
  // Time over steps of the whole side: the same as `each` where all runs have as many.
  const double s = whole.before / count.before, s_after = whole.after / count.after;
  const double steps = (count.before + count.after) / 2;
  each.before = s;
  each.after = s_after;
  each.difference = (s_after - s) * steps;
  scale(each.interval, steps);
  count.difference = whole.difference - each.difference;
  scale(count.interval, (s + s_after) / 2);
  whole.of = {std::move(count), std::move(each)};
}

}  // namespace

std::optional<Attribution> attribute(std::span<const double> before_total,
                                     std::span<const double> after_total,
                                     std::span<const PartSamples> parts, bool paired,
                                     double confidence) {
  if (before_total.empty() || after_total.empty() || !stats::all_finite(before_total) ||
      !stats::all_finite(after_total) || !(confidence > 0 && confidence < 1)) {
    return std::nullopt;
  }
  Attribution result;
  if (paired && before_total.size() != after_total.size()) paired = false;
  result.total = change_of("total", {before_total, after_total}, paired, confidence);
  std::vector<double> before_rest(before_total.begin(), before_total.end());
  std::vector<double> after_rest(after_total.begin(), after_total.end());
  double explained = 0;
  for (const PartSamples& part : parts) {
    if (part.before.size() != before_rest.size() || part.after.size() != after_rest.size()) {
      result.notes.push_back(
          fmt::format("{} was not recorded in every run: its time is in outside.", part.name));
      continue;
    }
    if (!stats::all_finite(part.before) || !stats::all_finite(part.after)) return std::nullopt;
    PartChange change = change_of(part.name, {part.before, part.after}, paired, confidence);
    if (counts_fit(part)) split_steps(part, paired, confidence, change);
    for (std::size_t i = 0; i < before_rest.size(); ++i) before_rest[i] -= part.before[i];
    for (std::size_t i = 0; i < after_rest.size(); ++i) after_rest[i] -= part.after[i];
    explained += change.difference;
    result.parts.push_back(std::move(change));
  }
  PartChange outside = change_of("outside", {before_rest, after_rest}, paired, confidence);
  outside.difference = result.total.difference - explained;  // to the last digit
  // Stages that cover all of a run leave rounding errors, which are no time.
  constexpr double kRounding = 1e-9;
  if (std::fabs(outside.before) < kRounding * std::fabs(result.total.before)) outside.before = 0;
  if (std::fabs(outside.after) < kRounding * std::fabs(result.total.after)) outside.after = 0;
  if (outside.before < 0 || outside.after < 0) {
    result.notes.emplace_back("The parts overlap: outside is below 0.");
  }
  result.parts.push_back(std::move(outside));
  if (result.total.difference != 0) {
    result.total.share = 1;
    for (PartChange& part : result.parts) {
      part.share = part.difference / result.total.difference;
      for (PartChange& of : part.of) of.share = of.difference / result.total.difference;
    }
  }
  return result;
}

}  // namespace genscope
