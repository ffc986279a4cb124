// The lines that training monitors and Inferix print while a run goes on, of a run that is
// recorded.
#pragma once

#include <string>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope::compat::styles {

// Training monitors: the first batches of each epoch, "  ..." for the others, and the epoch's end.
// Memory and loss are what the spans say of themselves (EpochPerformanceMonitor writes them); what
// is not known is left out.
std::string batch_lines(const Run& run, const Analysis& analysis);

// Inferix: the last readings, memory summed over GPUs, busy and temperature of the highest.
// What was not read is left out.
std::string profiling_metrics(const Run& run, const Analysis& analysis);

}  // namespace genscope::compat::styles
