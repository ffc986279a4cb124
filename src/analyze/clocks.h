// Puts the processes of a run on one time scale, and measures the run on it.
#pragma once

#include <cstdint>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

struct Clocks {
  std::vector<std::int64_t> offset_ns;  // per trace, as Analysis::clock_offset_ns
  std::int64_t begin_ns = 0;            // earliest begin of a trace
  std::int64_t end_ns = 0;              // latest end
};

// Traces of one boot keep their monotonic times. Another boot (or an unknown one) is shifted by
// the difference of the Unix clocks, taken once per boot so that it stays one scale within.
Clocks align_clocks(const Run& run);

}  // namespace genscope::analysis
