// Which of a row of changes made it slower: the search, without git.
//
// Candidates stand in a row; the first is known to be good, the last to be bad. Each is judged
// against the first, by running both in turns until the verdict is clear. What cannot be built, or
// cannot be decided, is stepped around; then several may be left as suspects.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <genscope/bench.h>

namespace genscope::bench {

enum class StepVerdict : std::uint8_t {
  untried,
  good,          // as fast as the first
  bad,           // slower, like the last
  inconclusive,  // not decided within the runs allowed
  skipped,       // it could not be built or run
};
std::string_view name(StepVerdict verdict) noexcept;

struct BisectStep {
  std::string id;     // commit, or number of the setting
  std::string title;  // its subject line, or the setting
  StepVerdict verdict = StepVerdict::untried;
  std::optional<double> ratio;  // time against the first's
  std::optional<stats::Interval> interval;
  std::size_t pairs = 0;
  std::string why;  // of inconclusive and skipped
};

struct Bisection {
  std::vector<BisectStep> steps;
  // The first bad one, and what stands between the last good one and it: those that were stepped
  // around. Alone if there are none.
  std::vector<std::size_t> suspects;
  bool cancelled = false;
};

// The next to try: nothing when it is decided, or nothing untried is left between good and bad.
std::optional<std::size_t> next_step(const std::vector<BisectStep>& steps);
std::vector<std::size_t> suspects_of(const std::vector<BisectStep>& steps);

// Tries steps until nothing is left to try; `attempt` fills a step's verdict, false to stop. Steps
// that were tried before, in a run that was interrupted, stay.
void bisect(Bisection& bisection, const std::function<bool(BisectStep&)>& attempt);

// What a comparison of the first (A) with a candidate (B) says. `floor`: half the way from good to
// bad, so that either side of it is a verdict.
void judge_step(const Cell& cell, double floor, BisectStep& step);
// Half the way to `ratio`, in logarithms: 1.21 gives 0.1.
double halfway(double ratio);

// The state of an interrupted bisection, as JSON; an error names the file and the field.
std::string bisection_json(const Bisection& bisection);
Result<std::vector<BisectStep>> read_bisection(const std::string& path);

}  // namespace genscope::bench
