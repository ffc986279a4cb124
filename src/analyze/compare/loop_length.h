// How many steps the loops of a run have.
#pragma once

#include <cstdint>
#include <optional>

#include <genscope/trace.h>

namespace genscope::analysis {

// Of every loop (steps in one stage, block or the like), if all have the same and every step is in
// one. Linear, 4 bytes a span of a process that has steps.
std::optional<std::uint64_t> steps_per_loop(const Run& run);

}  // namespace genscope::analysis
