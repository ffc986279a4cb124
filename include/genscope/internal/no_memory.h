// What bindings and monitors do where memory runs out before the recorder sees a call.
#pragma once

#include <cstdint>

namespace genscope::internal {

// Counts what they had to drop: in recorder_stats() and in the open trace, as losses of no
// particular thread. Nothing while nothing is recorded.
void count_lost(std::uint64_t spans, std::uint64_t records) noexcept;

// Whether this thread may throw: base/may_throw.h.
bool may_throw() noexcept;

}  // namespace genscope::internal
