// A run of very many spans, for benchmarks of what reads runs.
#pragma once

#include <cstddef>

#include <genscope/trace.h>

namespace bench {

// A pipeline as programs mark it: a session, then steps with two forwards, each of layers that hold
// kernels; an index on each step; memory ten times a second. At least `spans` spans.
genscope::Run pipeline_run(std::size_t spans);
// The same by so many ranks, each of at least `spans` spans.
genscope::Run ranks_run(int ranks, std::size_t spans);

}  // namespace bench
