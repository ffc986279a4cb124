#include "monitor/generation/ticks.h"

#include "base/clock.h"

namespace genscope::monitor {
namespace {

constexpr std::int64_t kWatchNs = 1'000'000;  // an error of a few parts per million

// Seconds per tick of the CPU's counter; 0 if it is not to be trusted.
double trusted_tick() {
  static const double seconds = [] {
    if (!internal::kHasFastTicks || !base::cpu_ticks_trusted()) return 0.0;
    const double rate = base::measure_tick_rate(kWatchNs);
    return rate > 0 ? 1 / rate : 0.0;
  }();
  return seconds;
}

std::int64_t os_clock() noexcept { return base::monotonic_ns(); }

}  // namespace

Ticks::Ticks(Clock clock) : clock_(clock), seconds_per_tick_(1e-9) {
  if (clock_ != nullptr) return;
  if (const double tick = trusted_tick(); tick > 0) {
    seconds_per_tick_ = tick;
  } else {
    clock_ = os_clock;
  }
}

}  // namespace genscope::monitor
