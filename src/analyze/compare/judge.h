// The rows' way to the one engine of verdicts (verdict/): one value for each run.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/compare/run_record.h"

namespace genscope::analysis {

inline constexpr double kConfidence = 0.95;
inline constexpr std::string_view kSteadyStep = "steady step";

// Of after / before.
struct Ratio {
  double low = 1, high = 1;
};

// Of the spans of one run each: the Hodges-Lehmann shift of the logarithms. Nothing where it cannot
// reach kConfidence: that takes 4 spans against 4, or 3 against 5. Never a verdict.
std::optional<Ratio> ratio_of(const Sample& before, const Sample& after);

// How the runs were ordered in time.
struct RunOrder {
  bool interleaved = false;  // in turns, so that a drift hits both sides
  bool paired = false;       // before[i] and after[i] are neighbours in time
};
// Both sides in the order of their begins.
RunOrder order_of(const Records& before, const Records& after);

struct Judging {
  double noise_floor = 0;
  RunOrder order;
  bool one_each = false;
  std::size_t before_runs = 0, after_runs = 0;

  // A row that only some runs have is no row of pairs.
  JudgeOptions options(std::size_t before_values, std::size_t after_values) const;
};

// Per run its value; empty: it has none.
using Values = std::vector<std::optional<double>>;

// Fills the figures, the interval and the judgement of a row. `before` and `after` are per run.
void judge_row(const Values& before, const Values& after, const Judging& judging, ChangeRow& row);

// Stages, loads, steady steps, CPU, memory, energy: not the finer spans, nor what they make up.
bool says_what_a_run_does(const ChangeRow& row);

// Correction for many rows: with 20 of them and no change, one is beyond chance by chance. Holm,
// over those that say what a run does and over the rest. The wall time and the CPU time are the two
// questions that a comparison is asked: each stands by itself.
void correct_rows(std::vector<ChangeRow>& rows);

// Where the total says that the machine was slower, times that moved the same way decide nothing.
void excuse_rows(const Judgement& total, std::vector<ChangeRow>& rows);

}  // namespace genscope::analysis
