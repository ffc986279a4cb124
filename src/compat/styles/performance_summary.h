// The PERFORMANCE SUMMARY of a run.
#pragma once

#include <string>

#include <genscope/analyze.h>
#include <genscope/trace.h>

namespace genscope::compat::styles {

// A row per load and stage in the order in which they first began. Memory is what the spans say of
// themselves (PerformanceMonitor writes cpu_delta_bytes, gpu_delta_bytes, gpu_peak_bytes), the peak
// else what was sampled; n/a if neither. TOTAL counts nested ones once.
std::string performance_summary(const Run& run, const Analysis& analysis);

}  // namespace genscope::compat::styles
