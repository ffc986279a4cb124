#include "base/clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::base {
namespace {

void write_source(const testing::TempDir& root, const std::string& source) {
  const std::string folder = root / "devices/system/clocksource/clocksource0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/current_clocksource") << source << '\n';
}

TEST(Clock, MonotonicNeverStepsBack) {
  std::int64_t last = monotonic_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now = monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(CpuTicks, AreNotTrustedWhenTheKernelDoesNot) {
  const testing::TempDir root;
  EXPECT_FALSE(cpu_ticks_trusted(root.path()));  // no such file
  for (const char* source : {"hpet", "acpi_pm", "kvm-clock", "jiffies", ""}) {
    write_source(root, source);
    EXPECT_FALSE(cpu_ticks_trusted(root.path())) << source;
  }
}

TEST(ClockSnapshot, OnTheOsClockTicksAreNanoseconds) {
  const std::int64_t before = monotonic_ns();
  const ClockSnapshot s = take_snapshot(false);
  const std::int64_t after = monotonic_ns();
  EXPECT_EQ(s.ticks, static_cast<std::uint64_t>(s.monotonic_ns));
  EXPECT_EQ(s.width_ticks, 0u);
  EXPECT_GE(s.monotonic_ns, before);
  EXPECT_LE(s.monotonic_ns, after);
}

TEST(ClockSnapshot, OnTheCpuClockLiesWithinItsBracket) {
  if (cpu_ticks() == 0) GTEST_SKIP() << "this CPU has no tick counter";
  const std::uint64_t before = cpu_ticks();
  const ClockSnapshot s = take_snapshot(true);
  const std::uint64_t after = cpu_ticks();
  EXPECT_GE(s.ticks, before);
  EXPECT_LE(s.ticks, after);
  EXPECT_LE(s.width_ticks, after - before);
  EXPECT_GT(s.realtime_ns, 0);
  EXPECT_GE(s.boottime_ns, s.monotonic_ns - 1'000'000'000);
}

// Two measurements of the same thing, not of how fast this machine is.
TEST(TickRate, AgreesWithALongerMeasurement) {
  if (!cpu_ticks_trusted()) GTEST_SKIP() << "the tick counter is not trusted here";
  const double longer = measure_tick_rate(20'000'000);
  double best = 1;
  for (int i = 0; i < 5; ++i) {
    best = std::min(best, std::abs(measure_tick_rate(200'000) / longer - 1));
  }
  EXPECT_LT(best, 0.01);
}

}  // namespace
}  // namespace genscope::base
