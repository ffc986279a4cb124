// Resources of a run: the subjects of this folder, called in order.
#pragma once

#include <genscope/analyze.h>

#include "analyze/clocks.h"
#include "analyze/generation/step_series.h"
#include "analyze/rows.h"
#include "analyze/telemetry.h"

namespace genscope::analysis {

// `analysis`: with everything but its resources. `sampled`: the telemetry that was moved into it.
Resources summarize_resources(const Run& run, const RowTable& rows, const Clocks& clocks,
                              const TelemetryResult& sampled, const StepSeries& steps,
                              const Analysis& analysis);

}  // namespace genscope::analysis
