// The readings of one series, on the run's time scale and in the order of time.
#pragma once

#include <string_view>

#include <genscope/trace.h>

#include "analyze/clocks.h"
#include "analyze/energy.h"
#include "analyze/time.h"

namespace genscope::analysis {

// Of one entity of whichever process sampled it. Linear in the counters of those that did.
Points points_of(const Run& run, const Clocks& clocks, std::string_view entity,
                 std::string_view metric);

// The places of `points` within an interval, its end included: [first, last).
struct PointRange {
  std::size_t first = 0, last = 0;
  std::size_t size() const noexcept { return last - first; }
};
PointRange range_within(const Points& points, Interval time);

}  // namespace genscope::analysis
