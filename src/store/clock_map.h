// Ticks to CLOCK_MONOTONIC nanoseconds, by interpolation between snapshots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace genscope::store {

class ClockMap {
 public:
  // `fallback_rate` (ticks per second) serves where there are fewer than two snapshots.
  ClockMap(std::vector<base::ClockSnapshot> snapshots, double fallback_rate);

  // Beyond the snapshots the nearest rate goes on. Never decreases with `ticks`.
  std::int64_t to_ns(std::uint64_t ticks) noexcept {
    const Segment& now = segments_[last_];
    if (ticks >= now.from && ticks < now.to) [[likely]]
      return convert(now, ticks);
    return find_and_convert(ticks);
  }

  // What to add to a monotonic time for Unix time.
  std::int64_t unix_offset_ns() const noexcept { return unix_offset_ns_; }

 private:
  struct Segment {
    std::uint64_t from, to;  // ticks, the end excluded
    std::uint64_t anchor;    // a tick, and the time at it
    std::int64_t anchor_ns;
    double ns_per_tick;
  };
  static std::int64_t convert(const Segment& s, std::uint64_t ticks) noexcept {
    const auto delta = static_cast<double>(static_cast<std::int64_t>(ticks - s.anchor));
    const double ns = delta * s.ns_per_tick;
    constexpr double kLimit = 4e18;  // a hostile file may ask for anything
    return s.anchor_ns + static_cast<std::int64_t>(ns > kLimit    ? kLimit
                                                   : ns < -kLimit ? -kLimit
                                                                  : ns);
  }
  std::int64_t find_and_convert(std::uint64_t ticks) noexcept;

  std::vector<Segment> segments_;  // contiguous, from 0 to the largest tick
  std::size_t last_ = 0;
  std::int64_t unix_offset_ns_ = 0;
};

}  // namespace genscope::store
