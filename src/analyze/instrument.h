// What the hooks of the Python package say of themselves: events "instrument".
#pragma once

#include <vector>

#include <genscope/analyze.h>

namespace genscope::analysis {

// One row for each target and status, in the order in which they were told; at most 200.
std::vector<InstrumentRow> instrument_table(const Run& run);

}  // namespace genscope::analysis
