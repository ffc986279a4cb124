// Folding: what a process that is gone left in its live file becomes part of its trace.
//
// A process that ends by _exit or a signal closes nothing. Its words are in the live file, which is
// larger than they are and would lie there for ever. Whoever comes by next (a process that forked
// it, `genscope run` at its end, a reader) appends them to the trace and removes the live file. The
// trace then reads as before: not closed by its process, with chunks from its buffers.
//
// Safe at any time and by several at once: a live file is locked by its process for as long as that
// lives, and the trace by whoever folds. Nothing is removed before all of it is in the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/live.h"

namespace genscope::trace {

// Whether the numbers in a live file's header fit each other and a file of `size` bytes.
bool usable(const LiveHeader& header, std::uint64_t size) noexcept;

// `segments`: of the trace, oldest first. True if the live file is gone afterwards. False: its
// process lives, runs on another host, or the trace cannot be written; then nothing has changed.
// May throw std::bad_alloc, with the same effect.
bool fold_live(const std::string& live_path, const std::vector<std::string>& segments);

// The live files of gone processes in `folder` that belong to `run_dir`, as far as that is quickly
// done: of one segment, below `max_trace_bytes`, until CLOCK_MONOTONIC is `until_ns`. How many.
std::size_t fold_quickly(const std::string& folder, const std::string& run_dir,
                         std::uint64_t max_trace_bytes, std::int64_t until_ns);

}  // namespace genscope::trace
