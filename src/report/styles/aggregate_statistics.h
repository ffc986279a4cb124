// The AGGREGATE STATISTICS of a run.
#pragma once

#include <string>

#include <genscope/analyze.h>

namespace genscope::report {

// A row per name and kind that ran more than once, in the order of the analysis; sessions left out.
std::string aggregate_statistics(const Analysis& analysis);

}  // namespace genscope::report
