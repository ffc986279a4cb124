// Verdicts: did a change make a figure better, worse, or neither? The unit of inference is the run:
// give one value for each run or slot (the median of its iterations). A verdict is an interval of
// after / before, set against a floor: the larger of the effect that the user cares about and the
// noise of this machine. There is no bare p-value.
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace genscope {

namespace stats {
struct Interval {
  double low = 0, high = 0;
  double confidence = 0;  // what it reaches
};
}  // namespace stats

enum class Verdict : std::uint8_t {
  regressed,       // the interval lies beyond the floor, on the bad side
  improved,        // the same on the good side
  unchanged,       // the interval lies within the floor
  inconclusive,    // the interval reaches over its edge: more runs
  insufficient,    // too few runs for an interval
  incomparable,    // not the same work or environment, or values that cannot be compared
  clock_shift,     // the time moved, the clock cycles did not
  slower_machine,  // same work, slower machine: the time moved, less waiting for others it did not
};
std::string_view name(Verdict verdict) noexcept;  // "regressed", ...

enum class Direction : std::uint8_t { lower_is_better, higher_is_better };

enum class JudgeMethod : std::uint8_t {
  none,
  hodges_lehmann,  // median of all ratios of two runs, with its distribution-free interval
  paired_sign,     // median ratio of the pairs, with the interval of the sign test
  student,         // Welch's interval of the mean logarithms, for very few runs
};
std::string_view name(JudgeMethod method) noexcept;

enum class FloorSource : std::uint8_t { effect, noise, absolute, resolution };
std::string_view name(FloorSource source) noexcept;

struct JudgeOptions {
  double min_effect = 0.01;               // smallest relative change that matters; at least 0
  std::optional<double> noise = {};       // noise_floor() of this machine
  std::optional<double> abs_floor = {};   // smallest change that matters, in the figure's unit
  std::optional<double> resolution = {};  // of the clock, in the figure's unit
  Direction direction = Direction::lower_is_better;
  double confidence = 0.95;
  double power = 0.8;        // for the smallest effect that would have been seen
  bool paired = false;       // before[i] and after[i] ran next to each other, in turns (ABBA)
  bool interleaved = false;  // the sides ran in turns; implied by `paired`
  // With too few runs for the distribution-free interval (3 against 3 at 95 %): also judge by
  // Student's, if the two sides do not overlap. It trusts logarithms to be near normal.
  bool few_by_student = false;
  // Where the time alone leaves it open, because others kept the CPU busy, and Measured::own_time
  // is known: judge by that.
  bool decide_by_own_time = false;
  std::vector<std::string> incomparable = {};  // why the sides cannot be compared; empty: they can
};

// What was measured on one side, one value for each run. Lists besides `values` may be empty: not
// known.
struct Measured {
  std::vector<double> values;
  std::vector<double> cycles;    // clock cycles spent: time * clock of the GPU or the CPU
  std::vector<double> own_time;  // time less what others took: waiting for a CPU, throttling, steal
  std::vector<double> cpu_time;  // for the sentence about one run each
};

struct Judgement {
  Verdict verdict = Verdict::insufficient;
  std::string reason;              // in a sentence
  std::vector<std::string> notes;  // doubts, in sentences
  JudgeMethod method = JudgeMethod::none;
  std::size_t before_n = 0, after_n = 0;    // runs
  std::size_t pairs = 0;                    // above 0 if the runs were paired
  std::optional<double> before, after;      // medians
  std::optional<double> ratio;              // after / before; absent where a value is 0 or less
  std::optional<stats::Interval> interval;  // of the ratio, with what it reaches
  // Where there is no ratio: after - before, in the figure's unit, and its interval.
  std::optional<double> difference;
  std::optional<stats::Interval> difference_interval;
  double confidence = 0.95;  // what was asked for
  double floor = 0;          // relative; in the figure's unit if there is no ratio
  FloorSource floor_source = FloorSource::effect;
  std::optional<double> mde;  // smallest relative effect that would have been seen, floor included
  std::optional<double> p_value;             // of "no change", two-sided
  std::optional<double> p_floor;             // of "no change beyond the floor": what gates correct
  std::optional<double> p_adjusted, q;       // Holm over gates, Benjamini-Hochberg: correct_gates()
  std::optional<double> pair_correlation;    // Spearman's rho of the pairs
  std::optional<std::uint64_t> runs_needed;  // a side, to decide; of an inconclusive one
  std::optional<double> cycles_ratio, own_time_ratio;
  std::optional<stats::Interval> own_time_interval;
  bool by_own_time = false;  // the verdict, its p-values and `mde` are those of Measured::own_time
  std::optional<double> cpu_explains;  // of one run each: share of the difference in CPU time
  bool drift_unprotected = false;      // the sides ran one after the other
};

// Runs a side: 1 to any number. O(n log n), and for at most stats::kExactPairs pairs the exact
// distribution.
Judgement judge(const Measured& before, const Measured& after, const JudgeOptions& options = {});
Judgement judge(std::span<const double> before, std::span<const double> after,
                const JudgeOptions& options = {});

// Why it differs: the difference of two sides over the parts of a run. Means, which add up.
struct PartChange {
  std::string name;
  double before = 0, after = 0;             // means
  double difference = 0;                    // after - before
  std::optional<stats::Interval> interval;  // of the difference; absent for one run
  std::optional<double> share;              // of the whole difference; absent if that is 0
  std::vector<PartChange> of;  // "steps" (their number) and "per step", which add up to this one
};
struct Attribution {
  PartChange total;
  std::vector<PartChange> parts;   // the last is "outside"; their differences add up to total's
  std::vector<std::string> notes;  // parts left out, in sentences
};

// Scores of 0 to 100 against a target.
struct TargetScore {
  double score = 0;  // 100 target / measured, at most 100; the reverse if higher is better
  bool met = false;
  std::optional<bool> confident;  // the bad end of the interval meets it too; with an interval
};

}  // namespace genscope
