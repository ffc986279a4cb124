// What GPUs did, from the work on their tracks: timelines, kernels by stage, traffic of steps.
#pragma once

#include <genscope/analyze.h>

#include "analyze/clocks.h"

namespace genscope::analysis {

// Fills devices, kernels, device_overlap and step_traffic. Nothing is done for traces without
// tracks of GPUs.
void add_device_work(const Run& run, const Clocks& clocks, Resources& resources);

}  // namespace genscope::analysis
