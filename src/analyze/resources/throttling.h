// How much of the time each GPU was held down, and by what.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/resources/readings.h"
#include "analyze/resources/stretches.h"

namespace genscope::analysis {

// Of each GPU that the run used, with enough readings, one row per cause, those with share 0 too:
// they were measured. Counted are the readings within steps; where those are too few, all.
std::vector<ThrottleShare> throttle_shares(const Readings& readings, const MeteredRow* steps);

}  // namespace genscope::analysis
