// Where the wall time of the watched processes went: on a CPU, ready for one, waiting for storage,
// or sleeping.
#pragma once

#include <genscope/analyze.h>

#include "analyze/clocks.h"

namespace genscope::analysis {

// Of the first tree of the telemetry. Linear in its readings.
TimeSplit time_split(const Run& run, const Clocks& clocks, const Telemetry& telemetry);

}  // namespace genscope::analysis
