#include "base/clock.h"

#include <fstream>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace genscope::base {

std::int64_t clock_ns(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::uint64_t cpu_ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return 0;
#endif
}

bool cpu_ticks_trusted(const std::string& sys_root) {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool invariant = __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
  if (!invariant) return false;
  const char* const wanted = "tsc";
#elif defined(__aarch64__)
  const char* const wanted = "arch_sys_counter";
#else
  return false;
  const char* const wanted = "";
#endif
  std::ifstream in(sys_root + "/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return in >> source && source == wanted;
}

ClockSnapshot take_snapshot(bool use_cpu_ticks) noexcept {
  ClockSnapshot best;
  best.width_ticks = ~std::uint64_t{0};
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = use_cpu_ticks ? cpu_ticks() : 0;
    const std::int64_t now = monotonic_ns();
    const std::uint64_t after = use_cpu_ticks ? cpu_ticks() : 0;
    if (after - before >= best.width_ticks) continue;
    best.width_ticks = after - before;
    best.monotonic_ns = now;
    best.ticks = use_cpu_ticks ? before + (after - before) / 2 : static_cast<std::uint64_t>(now);
  }
  // The offset to the other clocks, taken beside a second monotonic reading.
  const std::int64_t near = monotonic_ns();
  best.realtime_ns = realtime_ns() - (near - best.monotonic_ns);
  best.boottime_ns = clock_ns(CLOCK_BOOTTIME) - (near - best.monotonic_ns);
  return best;
}

double measure_tick_rate(std::int64_t watch_ns) noexcept {
  const ClockSnapshot a = take_snapshot(true);
  while (monotonic_ns() - a.monotonic_ns < watch_ns) {
  }
  const ClockSnapshot b = take_snapshot(true);
  return static_cast<double>(b.ticks - a.ticks) * 1e9 /
         static_cast<double>(b.monotonic_ns - a.monotonic_ns);
}

}  // namespace genscope::base
