// What bindings and monitors tell the recorder: what they dropped without memory, how little they
// need.
#pragma once

#include <cstdint>

namespace genscope::internal {

// Counts what they had to drop: in recorder_stats() and in the open trace, as losses of no
// particular thread. Nothing while nothing is recorded.
void count_lost(std::uint64_t spans, std::uint64_t records) noexcept;

// Whether this thread may throw: base/may_throw.h.
bool may_throw() noexcept;

// The next trace of this process begins with the least buffers, 256 KiB, as a forked child's does:
// for a program that marks nothing. They grow with use. Does nothing while a trace is open.
void begin_small() noexcept;

// Under `genscope run`: ends the trace, and with it the thread that writes it. The next record of
// this process opens another in the same run. Does nothing while a session is open.
void end_trace() noexcept;

}  // namespace genscope::internal
