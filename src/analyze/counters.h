// The user's counters, one row per name over the whole run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <genscope/analyze.h>

namespace genscope::analysis {

// Sorted by name. `clock_offset_ns`: as in Analysis. Samples are no counters of the user's.
std::vector<CounterRow> counter_table(const Run& run,
                                      std::span<const std::int64_t> clock_offset_ns);

}  // namespace genscope::analysis
