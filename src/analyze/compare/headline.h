// The verdict of a whole comparison, where the difference comes from, and both in sentences.
#pragma once

#include <genscope/analyze.h>

#include "analyze/compare/judge.h"
#include "analyze/compare/run_record.h"

namespace genscope::analysis {

inline constexpr std::string_view kWallTime = "wall time", kRequest = "request";

// Fills total, judgement, attribution and the row of the total; excuses rows. Needs rows.
void judge_total(const Records& before, const Records& after, const Judging& judging,
                 Comparison& result);

// Fills headline; needs all the rest.
void write_headline(Comparison& result);

}  // namespace genscope::analysis
