#include "store/clock_map.h"

#include <algorithm>
#include <limits>

namespace genscope::store {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();
// Closer snapshots say less about the rate than the noise of reading them.
constexpr std::int64_t kMinSpacingNs = 500'000;
// A hostile or broken snapshot must not overflow what is added to it.
constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;

// ns per tick as fixed point.
std::int64_t fixed(double ns_per_tick) {
  constexpr double kMaxRate = 1e6;  // a clock of 1 kHz
  return static_cast<std::int64_t>(std::clamp(ns_per_tick, 0.0, kMaxRate) * 4294967296.0);
}

bool plausible(const base::ClockSnapshot& s) {
  return s.monotonic_ns >= 0 && s.monotonic_ns < kMaxNs && s.realtime_ns >= 0 &&
         s.realtime_ns < kMaxNs;
}

}  // namespace

ClockMap::ClockMap(std::vector<base::ClockSnapshot> all, double fallback_rate) {
  if (!(fallback_rate > 1e3 && fallback_rate < 1e12)) fallback_rate = 1e9;
  std::erase_if(all, [](const auto& s) { return !plausible(s); });
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  std::vector<base::ClockSnapshot> kept;
  for (const base::ClockSnapshot& s : all) {
    const bool apart = kept.empty() || (s.ticks > kept.back().ticks &&
                                        s.monotonic_ns - kept.back().monotonic_ns >= kMinSpacingNs);
    if (apart) kept.push_back(s);
  }
  if (kept.empty()) kept.push_back({});
  unix_offset_ns_ = kept.back().realtime_ns - kept.back().monotonic_ns;

  if (kept.size() == 1) {
    segments_.push_back({0, kEnd, kept[0].ticks, kept[0].monotonic_ns, fixed(1e9 / fallback_rate)});
    return;
  }
  for (std::size_t i = 0; i + 1 < kept.size(); ++i) {
    const auto& a = kept[i];
    const auto& b = kept[i + 1];
    const double rate = static_cast<double>(b.monotonic_ns - a.monotonic_ns) /
                        static_cast<double>(b.ticks - a.ticks);
    segments_.push_back({a.ticks, b.ticks, a.ticks, a.monotonic_ns, fixed(rate)});
  }
  segments_.front().from = 0;
  segments_.back().to = kEnd;
}

std::int64_t ClockMap::find_and_convert(std::uint64_t ticks) noexcept {
  const auto it = std::upper_bound(segments_.begin(), segments_.end(), ticks,
                                   [](std::uint64_t t, const Segment& s) { return t < s.from; });
  last_ = it == segments_.begin() ? 0 : static_cast<std::size_t>(it - segments_.begin()) - 1;
  return convert(segments_[last_], ticks);
}

}  // namespace genscope::store
