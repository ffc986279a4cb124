// Whose clock the spans show: where the host waits for the GPU, by the spans that say so.
#pragma once

#include <genscope/analyze.h>

namespace genscope::analysis {

// `analysis`: with its stages and their groups; `busy_ns`: of all GPUs, by their kernels. Linear in
// the spans, but for sorting; touches a process only if it has a name that waits.
SpanClock find_span_clock(const Run& run, const Analysis& analysis, double busy_ns);

}  // namespace genscope::analysis
