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
    std::int64_t rate;  // ns per tick * 2^32, rounded down: a segment never passes the next one
  };
  static std::int64_t convert(const Segment& s, std::uint64_t ticks) noexcept {
    __extension__ using Wide = __int128;
    // A hostile file may ask for any tick: 2^58 ns either way are enough for 9 years.
    constexpr Wide kLimit = Wide{1} << 58;
    const Wide ns = (Wide{static_cast<std::int64_t>(ticks - s.anchor)} * s.rate) >> 32;
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
