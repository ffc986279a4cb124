// The slowest step in the middle of a run, and what the machine did meanwhile.
#pragma once

#include <optional>

#include <genscope/analyze.h>

#include "analyze/clocks.h"
#include "analyze/generation/step_series.h"

namespace genscope::analysis {

// Nothing if no steady step takes more than StepSummary::kOutlierRatio times their median, but for
// the first and the last of a process.
std::optional<SlowStep> slow_step(const Run& run, const Clocks& clocks, const StepSeries& series,
                                  const Analysis& analysis);

}  // namespace genscope::analysis
