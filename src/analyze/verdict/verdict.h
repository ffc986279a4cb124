// What benchmarks and comparisons need to make verdicts; the verdict itself, and judge(), are in
// analyze.h. Pure functions; docs/statistics.md has the rule and what it was measured to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <genscope/analyze.h>

namespace genscope {

// The 95th percentile of |ln ratio| over A/A pairs of one cell on one machine, as an effect: 0.014
// is 1.4 %. Nothing from fewer than 10 pairs, or from a ratio that is not above 0.
std::optional<double> noise_floor(std::span<const double> aa_ratios);
inline constexpr std::size_t kLeastNoisePairs = 10;

// Holm over the gates of a suite: what is beyond the floor alone, and not with the correction, is
// inconclusive. Fills p_adjusted and q. One gate stays as it is.
void correct_gates(std::span<Judgement> gates, double alpha = 0.05);

// When to stop adding runs. On the width of the interval, never on a verdict or a p-value: who
// looks after each run and stops when it pleases finds changes in every fifth unchanged program.
struct StopOptions {
  std::optional<double> half_width = {};  // of the ratio; absent: half the floor
  double share_of_effect = 0.1;  // also enough: this share of the effect. 0.1 is 20 sigma away.
  std::size_t least = 4;         // runs a side
  std::size_t most = 40;
};
struct StopDecision {
  bool stop = false;
  bool precise = false;  // stopped because the interval is narrow enough
  std::optional<double> half_width;
  std::optional<std::uint64_t> more;  // runs a side, as the width so far says
  std::string reason;
};
StopDecision decide_stop(const Judgement& judgement, const StopOptions& options = {});
// The same of one side: the interval of its median, relative to it.
StopDecision decide_stop(std::span<const double> values, const StopOptions& options,
                         double confidence = 0.95);

// For attribute(): the parts of both sides' runs.
struct PartSamples {
  std::string name;                   // "load", "encode", "denoise", "decode"
  std::vector<double> before, after;  // seconds of this part, one for each run
  // Steps of the part, one for each run: then the part splits into how many and how long each.
  std::vector<double> before_steps = {}, after_steps = {};
};

// Nothing without runs on a side, or where a value is not finite. With `paired`, intervals are of
// the pairs' differences.
std::optional<Attribution> attribute(std::span<const double> before_total,
                                     std::span<const double> after_total,
                                     std::span<const PartSamples> parts, bool paired = false,
                                     double confidence = 0.95);

// Against a target. Nothing for values that are not finite or below 0.
std::optional<TargetScore> target_score(double target, double measured,
                                        Direction direction = Direction::lower_is_better,
                                        const std::optional<stats::Interval>& interval = {});

struct BeforeAfterScore {
  double factor = 1;   // before / after
  double percent = 0;  // (before - after) / before * 100
};
std::optional<BeforeAfterScore> before_after_score(double before, double after);  // both above 0

struct ScorePart {
  double score = 0, weight = 1;
};
// Weighted geometric mean: a zero anywhere cannot be averaged away (scores count as 1e-6 at least).
std::optional<double> composite_score(std::span<const ScorePart> parts);

// "50 times as fast", judged on the conservative end of the interval.
struct SpeedupResult {
  double speedup = 1;  // before / after, or after / before if higher is better
  std::optional<stats::Interval> interval;
  bool met = false;        // the estimate reaches it
  bool confident = false;  // so does the lower end
};
std::optional<SpeedupResult> judge_speedup(const Judgement& judgement, double least,
                                           Direction direction = Direction::lower_is_better);

}  // namespace genscope
