// The words of verdicts and their names. No figure is computed here but the least number of runs.
#include "analyze/verdict/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/statistics/statistics.h"

namespace genscope {

std::string_view name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::regressed:
      return "regressed";
    case Verdict::improved:
      return "improved";
    case Verdict::unchanged:
      return "unchanged";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::insufficient:
      break;
    case Verdict::incomparable:
      return "incomparable";
    case Verdict::clock_shift:
      return "clock_shift";
    case Verdict::slower_machine:
      return "slower_machine";
  }
  return "insufficient";
}

std::string_view name(JudgeMethod method) noexcept {
  switch (method) {
    case JudgeMethod::none:
      break;
    case JudgeMethod::hodges_lehmann:
      return "hodges_lehmann";
    case JudgeMethod::paired_sign:
      return "paired_sign";
    case JudgeMethod::student:
      return "student";
  }
  return "none";
}

std::string_view name(FloorSource source) noexcept {
  switch (source) {
    case FloorSource::effect:
      break;
    case FloorSource::noise:
      return "noise";
    case FloorSource::absolute:
      return "absolute";
    case FloorSource::resolution:
      return "resolution";
  }
  return "effect";
}

namespace analysis {
namespace {

// A ratio as a signed change: 1.043 is "+4.3 %"; from a factor of 3 on, "30 times".
std::string change_text(double ratio) {
  if (ratio >= 3) return fmt::format("{:.3g} times", ratio);
  return fmt::format("{:+.3g} %", (ratio - 1) * 100);
}

std::string amount_text(double ratio) {
  if (ratio >= 3) return fmt::format("{:.3g} times as much", ratio);
  if (ratio <= 1.0 / 3) return fmt::format("{:.3g} times less", 1 / ratio);
  const double percent = (ratio - 1) * 100;
  if (percent == 0) return "no change";
  return fmt::format("{:.3g} % {}", std::fabs(percent), percent > 0 ? "more" : "less");
}

std::string floor_text(const Judgement& j) {
  const std::string size =
      j.ratio ? fmt::format("{:.3g} %", j.floor * 100) : fmt::format("{:.3g}", j.floor);
  switch (j.floor_source) {
    case FloorSource::effect:
      break;
    case FloorSource::noise:
      return fmt::format("the noise floor of {}", size);
    case FloorSource::absolute:
      return fmt::format("the floor of {}, the smallest amount that counts", size);
    case FloorSource::resolution:
      return fmt::format("the floor of {}, the clock's resolution", size);
  }
  return fmt::format("the floor of {}", size);
}

std::string level_text(double confidence) { return fmt::format("{:.3g} %", confidence * 100); }

std::string spread_text(const Judgement& j) {
  if (j.interval) {
    return fmt::format("{}: {} to {}", level_text(j.confidence), change_text(j.interval->low),
                       change_text(j.interval->high));
  }
  return fmt::format("{}: {:+.4g} to {:+.4g}", level_text(j.confidence), j.difference_interval->low,
                     j.difference_interval->high);
}

std::string middle_text(const Judgement& j) {
  return j.ratio ? amount_text(*j.ratio) : fmt::format("a difference of {:+.4g}", *j.difference);
}

// What an interval that decides nothing leaves possible.
std::string what_is_open(const Judgement& j) {
  const double same = j.ratio ? 1.0 : 0.0;
  const stats::Interval& interval = j.interval ? *j.interval : *j.difference_interval;
  if (interval.low > same || interval.high < same) {
    return "the interval also includes changes within " + floor_text(j);
  }
  const double point = j.ratio ? *j.ratio : *j.difference;
  if (std::fabs(point - same) > j.floor) return "the interval includes no change";
  return "the interval also includes changes beyond " + floor_text(j);
}

std::string runs_text(const Judgement& j) {
  if (j.before_n == j.after_n) return fmt::format("{} of each", j.before_n);
  return fmt::format("{} against {}", j.before_n, j.after_n);
}

// Runs of each side from which the interval reaches the confidence.
std::size_t least_each(double confidence) {
  for (std::size_t n = 2; n < 50; ++n) {
    std::vector<double> side(n, 0.0);
    const auto shift = stats::shift(side, side, confidence);
    if (shift && shift->confidence >= confidence - 1e-9) return n;
  }
  return 50;
}

}  // namespace

std::string interval_reason(const Judgement& j) {
  const std::string body = fmt::format("{} ({})", middle_text(j), spread_text(j));
  switch (j.verdict) {
    case Verdict::regressed:
    case Verdict::improved:
      return fmt::format("{}, beyond {}", body, floor_text(j));
    case Verdict::unchanged:
      return fmt::format(
          "{}, within {}{}", body, floor_text(j),
          j.mde ? fmt::format("; a change of {:.3g} % would have been seen", *j.mde * 100) : "");
    default:
      break;
  }
  return fmt::format(
      "{}, but {}{}", body, what_is_open(j),
      j.runs_needed ? fmt::format("; about {} runs of each would decide", *j.runs_needed) : "");
}

std::string insufficient_reason(const Judgement& j) {
  if (j.before_n == 0 || j.after_n == 0) {
    return j.before_n == j.after_n ? "no verdict: no runs"
                                   : fmt::format("no verdict: the {} side has no runs",
                                                 j.before_n == 0 ? "first" : "second");
  }
  constexpr std::string_view kRemedy = "record three of each, or `genscope bench ab`";
  const std::string differ = j.ratio
                                 ? fmt::format("differ by {:.3g} %", std::fabs(*j.ratio - 1) * 100)
                                 : fmt::format("differ by {:.4g}", std::fabs(*j.difference));
  if (j.before_n == 1 && j.after_n == 1) {
    std::string cpu;
    if (j.cpu_explains) {
      const double share = *j.cpu_explains;
      cpu = share <= 0   ? ", of which CPU time explains nothing"
            : share >= 1 ? ", all of which CPU time explains"
                         : fmt::format(", of which CPU time explains {:.0f} %", share * 100);
    }
    return fmt::format("no verdict: one run each; these runs {}{}; {}", differ, cpu, kRemedy);
  }
  return fmt::format(
      "no verdict: {} runs are too few for an interval of {}, which needs {} of each; "
      "the sides {}",
      runs_text(j), level_text(j.confidence), least_each(j.confidence), differ);
}

std::string incomparable_reason(std::span<const std::string> why) {
  std::string text = "not comparable: ";
  for (std::size_t i = 0; i < why.size(); ++i) text += (i > 0 ? ", " : "") + why[i];
  return text;
}

std::string clock_reason(const Judgement& time, const Judgement& cycles) {
  return fmt::format("{}, but in clock cycles {} ({}): {}", middle_text(time), middle_text(cycles),
                     spread_text(cycles),
                     cycles.verdict == Verdict::unchanged
                         ? "the clock ran at another speed, the work is the same"
                         : "more runs will tell whether the work changed");
}

std::string machine_reason(const Judgement& time, const Judgement& own, Verdict moved) {
  const std::string text = fmt::format("{}, but without the time that others took {} ({})",
                                       middle_text(time), middle_text(own), spread_text(own));
  if (own.verdict != Verdict::unchanged) return text + ", which decides nothing";
  return fmt::format("same work, slower machine on the {} side: {}",
                     moved == Verdict::regressed ? "second" : "first", text);
}

std::string own_time_reason(const Judgement& time, const Judgement& own) {
  return fmt::format("without the time that others took {}; with it {} ({}), which decides nothing",
                     interval_reason(own), middle_text(time), spread_text(time));
}

std::string hopeless_note(const Judgement& gate, std::size_t gates, std::size_t needed) {
  const bool pairs = gate.method == JudgeMethod::paired_sign;
  return fmt::format(
      "With {} {} and {} gates no change, however large, counts as shown: it takes {} at least, or "
      "fewer gates.",
      std::max(gate.before_n, gate.after_n), pairs ? "pairs" : "runs of each side", gates, needed);
}

std::string gate_reason(const Judgement& gate, std::size_t gates, double alpha) {
  return fmt::format(
      "{}; among {} gates this may be chance (p {:.2g} after correction, above "
      "{:.2g}): more runs",
      gate.reason, gates, *gate.p_adjusted, alpha);
}

std::string_view drift_note() noexcept {
  return "The sides ran one after the other: a machine that grew warmer or busier meanwhile looks "
         "like a change. Run them in turns.";
}

std::string_view unequal_pairs_note() noexcept {
  return "The sides have different numbers of runs, so that they were not compared as pairs.";
}

}  // namespace analysis
}  // namespace genscope
