// The busiest GPU, the main thread and the allocator against the steps and requests of a run.
#pragma once

#include <genscope/analyze.h>

#include "analyze/clocks.h"
#include "analyze/generation/step_series.h"

namespace genscope::analysis {

// `analysis`: with its telemetry; `resources`: with its stages and devices.
GpuUse gpu_use(const Run& run, const Clocks& clocks, const StepSeries& steps,
               const Analysis& analysis, const Resources& resources);
HostUse host_use(const Run& run, const Clocks& clocks, const StepSeries& steps,
                 const Telemetry& telemetry, std::int64_t wall_ns);
AllocatorUse allocator_use(const Run& run, const Clocks& clocks, const Telemetry& telemetry);

}  // namespace genscope::analysis
