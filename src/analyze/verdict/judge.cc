// The rule, in the order of the code: can the sides be compared; which scale (ratios, or
// differences where a value is 0 or less); the floor; the interval (estimate.h); interval against
// floor; then whether the machine explains what moved. All pure, O(n log n).
#include <algorithm>
#include <cmath>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"
#include "analyze/verdict/estimate.h"
#include "analyze/verdict/reasons.h"
#include "analyze/verdict/verdict.h"

namespace genscope {
namespace analysis {
namespace {

bool all_above_zero(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs(values.begin(), values.end());
  for (double& value : logs) value = std::log(value);
  return logs;
}

struct Floor {
  double size = 0;
  FloorSource source = FloorSource::effect;
  void at_least(double other, FloorSource from) {
    if (other > size) *this = {other, from};
  }
};

// Relative to `level`, the median before; in the figure's unit if `absolute`.
Floor floor_of(const JudgeOptions& options, double level, bool absolute) {
  const double to_share = absolute ? 1 : 1 / level, from_share = absolute ? std::fabs(level) : 1;
  Floor floor{std::max(0.0, options.min_effect) * from_share};
  if (options.noise) floor.at_least(*options.noise * from_share, FloorSource::noise);
  if (options.abs_floor) floor.at_least(*options.abs_floor * to_share, FloorSource::absolute);
  if (options.resolution) floor.at_least(*options.resolution * to_share, FloorSource::resolution);
  return floor;
}

Verdict verdict_of(const stats::Interval& interval, double floor, Direction direction) {
  const bool lower = direction == Direction::lower_is_better;
  if (interval.low > floor) return lower ? Verdict::regressed : Verdict::improved;
  if (interval.high < -floor) return lower ? Verdict::improved : Verdict::regressed;
  return interval.low >= -floor && interval.high <= floor ? Verdict::unchanged
                                                          : Verdict::inconclusive;
}

// Of the interval's half width, as a normal sample with the same one would have it.
double standard_error(const Estimate& e) {
  const double reach =
      stats::t_quantile((1 + std::min(e.interval->confidence, 1 - 1e-12)) / 2, e.df);
  return (e.interval->high - e.interval->low) / 2 / reach;
}

void add_precision(const Estimate& e, double floor, const JudgeOptions& options, bool ratio,
                   Judgement& j) {
  const double seen = floor + (stats::t_quantile((1 + options.confidence) / 2, e.df) +
                               stats::t_quantile(options.power, e.df)) *
                                  standard_error(e);
  if (ratio) j.mde = std::expm1(seen);
  const double half = (e.interval->high - e.interval->low) / 2;
  if (j.verdict != Verdict::inconclusive || !(floor > 0)) return;
  // Widths fall with the root of the runs; enough to tell the estimate from the nearer edge, or to
  // fit inside the floor.
  const double away = std::max(std::fabs(std::fabs(e.center) - floor), floor / 4);
  const double times = std::pow(half / away, 2);
  const auto n = static_cast<double>(std::max(j.before_n, j.after_n));
  if (std::isfinite(times) && times * n < 1e6) {
    j.runs_needed = static_cast<std::uint64_t>(std::ceil(std::max(n + 1, times * n)));
  }
}

// The verdict of a list that tells the work apart from the machine; nothing if it is not known.
std::optional<Judgement> judge_evidence(const std::vector<double>& before,
                                        const std::vector<double>& after, const Measured& b,
                                        const Measured& a, const JudgeOptions& options) {
  if (before.empty() || after.empty() || before.size() != b.values.size() ||
      after.size() != a.values.size()) {
    return std::nullopt;
  }
  JudgeOptions plain = options;
  plain.abs_floor.reset();  // in the figure's unit, which is not this one's
  plain.resolution.reset();
  plain.decide_by_own_time = false;
  plain.direction = Direction::lower_is_better;  // whatever the figure: more cycles are worse
  Judgement j = judge(std::span<const double>(before), std::span<const double>(after), plain);
  if (!j.ratio || !j.interval) return std::nullopt;
  return j;
}

// What the time leaves open, decided without what others took of it.
void adopt(const Judgement& own, Judgement& j) {
  const bool decided = own.verdict == Verdict::regressed || own.verdict == Verdict::improved ||
                       own.verdict == Verdict::unchanged;
  if (j.verdict != Verdict::inconclusive || !decided) return;
  j.by_own_time = true;
  j.reason = own_time_reason(j, own);
  j.verdict = own.verdict;
  j.p_value = own.p_value;
  j.p_floor = own.p_floor;
  j.mde = own.mde;
  j.runs_needed.reset();
}

void confirm(const Measured& before, const Measured& after, const JudgeOptions& options,
             Judgement& j) {
  const auto cycles = judge_evidence(before.cycles, after.cycles, before, after, options);
  const auto own = judge_evidence(before.own_time, after.own_time, before, after, options);
  if (cycles) j.cycles_ratio = cycles->ratio;
  if (own) {
    j.own_time_ratio = own->ratio;
    j.own_time_interval = own->interval;
    if (options.decide_by_own_time) adopt(*own, j);
  }
  if (j.by_own_time || (j.verdict != Verdict::regressed && j.verdict != Verdict::improved)) return;
  const Verdict moved = j.verdict;
  const auto weigh = [&](const std::optional<Judgement>& evidence, Verdict instead,
                         std::string why) {
    if (!evidence || evidence->verdict == moved || j.verdict != moved) return;
    j.verdict = evidence->verdict == Verdict::unchanged ? instead : Verdict::inconclusive;
    j.reason = std::move(why);
  };
  weigh(cycles, Verdict::clock_shift, cycles ? clock_reason(j, *cycles) : "");
  weigh(own, Verdict::slower_machine, own ? machine_reason(j, *own, moved) : "");
}

void explain_single(const Measured& before, const Measured& after, Judgement& j) {
  if (before.values.size() != 1 || after.values.size() != 1) return;
  if (before.cpu_time.size() != 1 || after.cpu_time.size() != 1) return;
  const double moved = after.values[0] - before.values[0];
  if (moved != 0)
    j.cpu_explains = stats::if_finite((after.cpu_time[0] - before.cpu_time[0]) / moved);
}

}  // namespace
}  // namespace analysis

std::optional<double> noise_floor(std::span<const double> aa_ratios) {
  if (aa_ratios.size() < kLeastNoisePairs) return std::nullopt;
  std::vector<double> sizes;
  for (const double ratio : aa_ratios) {
    if (!(ratio > 0) || !std::isfinite(ratio)) return std::nullopt;
    sizes.push_back(std::fabs(std::log(ratio)));
  }
  return std::expm1(*stats::quantile(sizes, 0.95));
}

Judgement judge(std::span<const double> before, std::span<const double> after,
                const JudgeOptions& options) {
  return judge(Measured{{before.begin(), before.end()}, {}, {}, {}},
               Measured{{after.begin(), after.end()}, {}, {}, {}}, options);
}

Judgement judge(const Measured& before, const Measured& after, const JudgeOptions& options) {
  using namespace analysis;
  Judgement j;
  const std::span<const double> x = before.values, y = after.values;
  j.before_n = x.size();
  j.after_n = y.size();
  j.confidence = options.confidence;
  j.drift_unprotected = !options.interleaved && !options.paired;
  if (options.paired && x.size() == y.size()) j.pairs = x.size();
  if (options.paired && x.size() != y.size()) j.notes.emplace_back(unequal_pairs_note());
  std::vector<std::string> why = options.incomparable;
  if (!stats::all_finite(x) || !stats::all_finite(y)) {
    why.emplace_back("a value is not a finite number");
  }
  if (!(options.confidence > 0 && options.confidence < 1)) {
    why.emplace_back("the confidence is not between 0 and 1");
  }
  if (!why.empty()) {
    j.verdict = Verdict::incomparable;
    j.reason = incomparable_reason(why);
    return j;
  }
  if (x.empty() || y.empty()) {
    j.reason = insufficient_reason(j);
    return j;
  }
  j.before = *stats::quantile(x, 0.5);
  j.after = *stats::quantile(y, 0.5);
  const bool ratio = all_above_zero(x) && all_above_zero(y);
  const Floor floor = floor_of(options, *j.before, !ratio);
  j.floor = floor.size;
  j.floor_source = floor.source;
  const double edge = ratio ? std::log1p(floor.size) : floor.size;
  const Estimate e =
      ratio ? estimate(logarithms(x), logarithms(y), edge, options) : estimate(x, y, edge, options);
  j.method = e.interval ? e.method : JudgeMethod::none;
  j.pair_correlation = e.pair_correlation;
  if (ratio) {
    j.ratio = std::exp(e.center);
  } else {
    j.difference = e.center;
  }
  explain_single(before, after, j);
  if (!e.interval) {
    j.reason = insufficient_reason(j);
    return j;
  }
  j.p_value = e.p_value;
  j.p_floor = e.p_floor;
  if (ratio) {
    j.interval = stats::Interval{std::exp(e.interval->low), std::exp(e.interval->high),
                                 e.interval->confidence};
  } else {
    j.difference_interval = e.interval;
  }
  j.verdict = verdict_of(*e.interval, edge, options.direction);
  add_precision(e, edge, options, ratio, j);
  j.reason = interval_reason(j);
  if (j.drift_unprotected) j.notes.emplace_back(drift_note());
  confirm(before, after, options, j);
  return j;
}

namespace analysis {
namespace {

// The smallest p that so many runs can give, whatever they measured: all of them say the same.
double least_p(JudgeMethod method, std::size_t before, std::size_t after) {
  if (method == JudgeMethod::paired_sign) return std::exp2(1 - static_cast<double>(after));
  if (method != JudgeMethod::hodges_lehmann) return 0;
  double orders = 1;  // ways to mix the two sides
  for (std::size_t i = 1; i <= after; ++i) {
    orders *= static_cast<double>(before + i) / static_cast<double>(i);
  }
  return 2 / orders;
}

// Of a gate that no change of any size could move: with so many gates even its smallest p is above
// alpha. Gates with a smaller one go first in Holm's order and leave fewer to correct for.
void note_hopeless(std::span<Judgement> gates, const std::vector<std::size_t>& places,
                   double alpha) {
  constexpr std::size_t kMostRuns = 1000;
  const auto least_of = [&](std::size_t place) {
    return least_p(gates[place].method, gates[place].before_n, gates[place].after_n);
  };
  for (const std::size_t place : places) {
    Judgement& gate = gates[place];
    if (gate.verdict != Verdict::inconclusive) continue;
    const double least = least_of(place);
    const auto first = std::count_if(places.begin(), places.end(),
                                     [&](std::size_t other) { return least_of(other) < least; });
    const double times = static_cast<double>(places.size()) - static_cast<double>(first);
    if (least * times <= alpha) continue;
    std::size_t n = std::max(gate.before_n, gate.after_n);
    while (n < kMostRuns && least_p(gate.method, n, n) * times > alpha) ++n;
    gate.notes.push_back(hopeless_note(gate, places.size(), n));
  }
}

}  // namespace
}  // namespace analysis

void correct_gates(std::span<Judgement> gates, double alpha) {
  std::vector<double> beyond, changed;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    if (!gates[i].p_floor || !gates[i].p_value) continue;
    places.push_back(i);
    beyond.push_back(*gates[i].p_floor);
    changed.push_back(*gates[i].p_value);
  }
  const std::vector<double> holm = stats::adjust(beyond, stats::Correction::holm);
  const std::vector<double> q = stats::adjust(changed, stats::Correction::benjamini_hochberg);
  for (std::size_t i = 0; i < holm.size(); ++i) {
    Judgement& gate = gates[places[i]];
    gate.p_adjusted = holm[i];
    gate.q = q[i];
    const bool moved = gate.verdict == Verdict::regressed || gate.verdict == Verdict::improved;
    // Alone, the interval has already decided; under ties p may be a little above.
    if (!moved || holm.size() < 2 || holm[i] <= alpha) continue;
    gate.verdict = Verdict::inconclusive;
    gate.reason = analysis::gate_reason(gate, holm.size(), alpha);
  }
  if (places.size() > 1) analysis::note_hopeless(gates, places, alpha);
}

}  // namespace genscope
