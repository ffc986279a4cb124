// Stages as they lie in one another: what a person reads first.
#pragma once

#include <genscope/analyze.h>

namespace genscope::analysis {

// Linear in the spans; some 50 bytes a span of its kinds while it works.
StageTree stage_tree(const Run& run, std::int64_t wall_ns);

}  // namespace genscope::analysis
