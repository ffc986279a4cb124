// The ranks of one run against each other.
#pragma once

#include <genscope/analyze.h>

#include "analyze/generation/step_series.h"

namespace genscope::analysis {

RankSummary summarize_ranks(const Run& run, const StepSeries& steps);

}  // namespace genscope::analysis
