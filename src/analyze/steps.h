// The steps of a run as one series: how the first compares with the rest.
#pragma once

#include <cstdint>
#include <span>

#include <genscope/analyze.h>

#include "analyze/durations.h"
#include "analyze/rows.h"

namespace genscope::analysis {

// `durations`: of all finished steps. `clock_offset_ns`: as in Analysis.
StepSummary summarize_steps(const Run& run, const RowTable& rows,
                            std::span<const std::int64_t> clock_offset_ns, DurationSet durations);

}  // namespace genscope::analysis
