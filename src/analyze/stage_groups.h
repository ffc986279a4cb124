// Stages under one name each, whatever programs call them.
#pragma once

#include <vector>

#include <genscope/analyze.h>

namespace genscope::analysis {

// Linear in the spans; 8 bytes a span of kind stage or load while it works.
std::vector<StageGroup> group_stages(const Run& run, std::int64_t wall_ns);

}  // namespace genscope::analysis
