// Sampled stacks as a tree under the stages that were open, and as a table of functions.
#pragma once

#include <genscope/analyze.h>

namespace genscope::analysis {

// Linear in spans and samples, times the depth of stacks.
Sampled summarize_stacks(const Run& run);

}  // namespace genscope::analysis
