// The tables of a comparison, which text and Markdown share. Cells are printable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "report/table.h"

namespace genscope::report {

// More rows than a person reads; JSON has all.
inline constexpr std::size_t kMostChangeRows = 60;

// Key, before, after; "-" where a run does not say. Values are cut at `limit` columns.
Table difference_table(const std::vector<Difference>& differences, std::size_t limit);

// The first kMostChangeRows rows. Of one run each there is no column of verdicts.
Table change_table(const Comparison& comparison);

// Where the difference of the total comes from; empty if that is not known.
Table attribution_table(const Comparison& comparison);

// The verdict of a row in a word or two: "regressed", "too few runs", "vanished". The page uses the
// same words.
std::string verdict_word(const ChangeRow& row);

bool one_run_each(const Comparison& comparison) noexcept;

// What the intervals of the table cover; empty without one.
std::string interval_sentence(const Comparison& comparison);

// A side in a line: its run, or "3 runs: runs/a1, runs/a2, runs/a3".
std::string side_text(const std::vector<ComparedRun>& runs);

// The headline, cut after its first sentence: the verdict, and the reason.
struct Headline {
  std::string verdict, reason;
};
Headline headline_of(const Comparison& comparison);

// "ENV-DRIFT: ..." if the environment differs in what may explain a change; else empty.
std::string drift_sentence(const Comparison& comparison);

// The target in a sentence; empty without one.
std::string target_sentence(const BeforeAfter& figures);

}  // namespace genscope::report
