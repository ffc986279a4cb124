// The user's counters, one row per name over the whole run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/telemetry.h"

namespace genscope::analysis {

// Sorted by name. `clock_offset_ns`: as in Analysis. `samples`, per trace: counters to leave out.
std::vector<CounterRow> counter_table(const Run& run, std::span<const std::int64_t> clock_offset_ns,
                                      std::span<const SampleNames> samples);

}  // namespace genscope::analysis
