// Rows of a track, so that no two spans of a row overlap and a child is below its parent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <genscope/trace.h>

namespace genscope::report {

inline constexpr std::uint8_t kDeepest = 255;  // all that is deeper shares this lane

// Of the spans of one track in the order of their begins: the lane of each. A span of a thread's
// stack takes the first lane under its parent; one that overlaps with others the first that is
// free.
std::vector<std::uint8_t> lanes_of(const Trace& trace, std::span<const std::uint32_t> spans);

}  // namespace genscope::report
