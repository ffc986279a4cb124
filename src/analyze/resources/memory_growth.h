// Whether memory grows while it should stay: of the process tree and of each GPU.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/resources/readings.h"
#include "analyze/resources/stretches.h"

namespace genscope::analysis {

// `whole`: the run.
std::vector<MemoryGrowth> memory_growth(const Readings& readings, const MeteredRows& rows,
                                        Interval steady, Interval whole);

}  // namespace genscope::analysis
