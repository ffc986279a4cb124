// The threads and named tracks of a run: how much each recorded, was busy, and lost.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/clocks.h"

namespace genscope::analysis {

// In the order of the traces and of their tracks.
std::vector<TrackRow> track_table(const Run& run, const Clocks& clocks);

}  // namespace genscope::analysis
