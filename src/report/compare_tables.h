// The tables of a comparison, which text and Markdown share. Cells are printable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <genscope/compare.h>

#include "report/table.h"

namespace genscope::report {

// More rows than a person reads; JSON has all.
inline constexpr std::size_t kMostChangeRows = 60;

// Key, before, after; "-" where a run does not say. Values are cut at `limit` columns.
Table difference_table(const std::vector<Difference>& differences, std::size_t limit);

// The first kMostChangeRows rows.
Table change_table(const Comparison& comparison);

// The verdict of a row in a word or two: "faster", "one pair", "too few".
std::string verdict_word(const ChangeRow& row);

// The verdict of a comparison. One run each is what it is about: "faster in these two runs".
std::string verdict_of_both(Change verdict);

// "ENV-DRIFT: ..." if the environment differs in what may explain a change; else empty.
std::string drift_sentence(const Comparison& comparison);

// Document 000's target in a sentence; empty without one.
std::string target_sentence(const BeforeAfter& figures);

}  // namespace genscope::report
