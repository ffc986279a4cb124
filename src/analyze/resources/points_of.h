// The readings of one series, on the run's time scale and in the order of time.
#pragma once

#include <string_view>

#include <genscope/trace.h>

#include "analyze/clocks.h"
#include "analyze/energy.h"
#include "analyze/time.h"

namespace genscope::analysis {

Points points_in(const Trace& trace, const SampleSeries& series, std::int64_t offset_ns);

// Of one entity (by its id; an allocator by its device) of whichever process sampled it. Linear in
// those readings.
Points points_of(const Run& run, const Clocks& clocks, std::string_view entity,
                 std::string_view metric);

// The places of `points` within an interval, its end included: [first, last).
struct PointRange {
  std::size_t first = 0, last = 0;
  std::size_t size() const noexcept { return last - first; }
};
PointRange range_within(const Points& points, Interval time);

}  // namespace genscope::analysis
