// The generations that the calling thread has open, innermost last: for calls in the way of older
// monitors, which name no generation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <genscope/monitor.h>

namespace genscope::monitor {

struct OpenHere {
  std::uint64_t monitor = 0;  // GenerationHub::number
  Generation* generation = nullptr;
  std::unique_ptr<Generation> owned;  // of start_timing()
};

// False without memory: then it is not listed.
bool list_here(OpenHere open) noexcept;
// Innermost of that monitor that runs, or null. `owned`: of start_timing() only.
OpenHere* find_here(std::uint64_t monitor, bool owned) noexcept;
void close_here(const Generation* generation) noexcept;

}  // namespace genscope::monitor
