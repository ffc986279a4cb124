// Verdicts, failures and cells in words, shared by all outputs; figures.h has the numbers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/bench.h>

#include "bench/output/figures.h"

namespace genscope::bench {

// "regressed", "clock shift": for people.
std::string verdict_words(Verdict verdict);
// In the table of a command, where a row is one metric: "better", "worse", "same", "not decided".
std::string_view verdict_text(Verdict verdict) noexcept;
// "8 pairs", "12 runs of each", "4 and 6 runs".
std::string runs_text(const Judgement& judgement);

// How soon somebody should look: 0 is now (a gate regressed), kFolded is never.
inline constexpr int kFolded = 6;
int urgency(const Comparison& comparison);
// Most urgent first; otherwise in their order.
std::vector<const Comparison*> by_urgency(const BenchResult& result);
// Of those that are kFolded: "9 comparisons: 6 of stages, 3 without a change that was found".
std::string folded_words(const BenchResult& result);

// Most urgent first; those that do not occur are left out. Stages that are no gates do not count:
// they explain, and would count one change many times.
struct VerdictCount {
  Verdict verdict;
  std::size_t n;
};
std::vector<VerdictCount> count_verdicts(const BenchResult& result);
// "1 regressed, 2 inconclusive, 30 unchanged", most urgent first; empty without comparisons.
std::string verdict_counts(const BenchResult& result);

// The side that a report shows as the result: 'B' where there is one, else 'A'.
char shown_slot(const Cell& cell);

// "denoise +70.0 ms (93 %), decode -1.00 ms": parts that moved, largest first, at most three. Only
// of what was found to differ: shares of a difference near 0 say nothing. Else empty.
std::string attribution_words(const Comparison& comparison);

// What a table does not show: where the time went, doubts, how many runs would decide, why there is
// no verdict. In sentences; may be empty.
std::string remark_of(const Comparison& comparison);

// "load is 7.40 per core (should be at most 0.3 per core)", of each check that is not well. A limit
// of the suite's own stands for ours.
std::vector<std::string> machine_doubts(const Environment& environment);

// In one line: "timeout: still running after 5 s", "exit nonzero: exit code 2 (no such file)".
std::string failure_words(const Failure& failure);

// Cells for tables, shorter than their ids: the values of the axes that vary, "mmdit 512x512
// steps=20". The id where that would not tell cells apart.
class CellLabels {
 public:
  explicit CellLabels(const BenchResult& result);
  const std::string& operator()(const std::string& id) const;

 private:
  std::map<std::string, std::string> labels_;
};

// A title for the whole: the suite's name, else the labels of the sides, else the id.
std::string title_of(const BenchResult& result);

}  // namespace genscope::bench
