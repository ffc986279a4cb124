// One pass over the work of a GPU in the order of begins: busy, overlap, and why it was idle.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/resources/device_tracks.h"
#include "analyze/resources/stretches.h"
#include "analyze/time.h"

namespace genscope::analysis {

class TimelineSweep {
 public:
  // Begins must not fall. `launch_ns`: when the host asked for it, if known.
  void add(Interval here, Work work, std::optional<std::int64_t> launch_ns);
  // Times as they were given; the caller names the device and shifts begin and end.
  DeviceTimeline finish() const;
  bool empty() const noexcept { return busy_.empty(); }
  // When it was busy; what is left is empty.
  Stretches take_busy() noexcept { return std::move(busy_); }

 private:
  void gap(std::int64_t length, std::int64_t since, std::optional<std::int64_t> launch_ns);

  DeviceTimeline sums_;
  Coverage all_, compute_, communication_, copies_, moving_;
  std::int64_t moving_ns_ = 0;  // communication or copies
  Stretches busy_;
};

// Of the time in which any of several devices was busy, the share of two or more. Nothing if none
// was. Sorts the stretches of all.
std::optional<double> overlap_of(const std::vector<Stretches>& devices);

}  // namespace genscope::analysis
