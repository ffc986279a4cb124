// Clocks: the OS's, the CPU's tick counter, and how far the latter can be trusted.
#pragma once

#include <ctime>

#include <cstdint>
#include <string>

namespace genscope::base {

// Nanoseconds of a POSIX clock.
std::int64_t clock_ns(clockid_t id) noexcept;
inline std::int64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }
inline std::int64_t realtime_ns() noexcept { return clock_ns(CLOCK_REALTIME); }

// The CPU's tick counter (TSC, CNTVCT); 0 where there is none.
std::uint64_t cpu_ticks() noexcept;

// Whether cpu_ticks() may stamp spans: it exists, the CPU promises a constant rate in all power
// states, and the kernel itself keeps time by it (`sys_root`/devices/system/clocksource/...), which
// it stops doing when cores disagree or a hypervisor interferes.
bool cpu_ticks_trusted(const std::string& sys_root = "/sys");

// One instant on several clocks. `ticks` is the middle of the narrowest of a few brackets;
// `width_ticks` is how wide that bracket was, the bound on the error.
struct ClockSnapshot {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t realtime_ns = 0;
  std::int64_t boottime_ns = 0;
  std::uint64_t width_ticks = 0;
};

// With `use_cpu_ticks` false, ticks are monotonic nanoseconds.
ClockSnapshot take_snapshot(bool use_cpu_ticks) noexcept;

// Ticks per second, watched for about `watch_ns`; the error is some 10 ppm at 200 us.
double measure_tick_rate(std::int64_t watch_ns) noexcept;

}  // namespace genscope::base
