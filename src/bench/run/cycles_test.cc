#include "bench/run/cycles.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstdlib>

#include <genscope/bench.h>

namespace genscope::bench {
namespace {

// The kernel's clock of a task counts in nanoseconds on every machine, also in virtual ones.
constexpr CycleCounter::Events kTaskClock = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
                                             PERF_COUNT_SW_TASK_CLOCK};

TEST(CycleCounter, CountsChildrenAndNotUs) {
  std::string why;
  const auto counter = CycleCounter::open(why, kTaskClock);
  if (!counter) GTEST_SKIP() << why;
  counter->begin();
  volatile std::uint64_t sum = 0;  // ours: left out
  for (std::uint64_t i = 0; i < 50'000'000; ++i) sum = sum + i;
  ASSERT_EQ(std::system("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"), 0);
  const auto busy = counter->end();
  ASSERT_TRUE(busy);
  counter->begin();
  ASSERT_EQ(std::system("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"), 0);
  const auto busier = counter->end();
  ASSERT_TRUE(busier);
  EXPECT_GT(busier->cycles, 3 * busy->cycles) << "ten times the work, and a shell's start";
}

TEST(CycleCounter, SaysWhyItCannot) {
  std::string why;
  EXPECT_EQ(CycleCounter::open(why, {PERF_TYPE_SOFTWARE, 999'999, 999'999}), nullptr);
  EXPECT_FALSE(why.empty());
}

Cell counted_cell(double b_slower, double b_cycles, double cpu_share) {
  Cell cell;
  cell.id = "all";
  for (std::uint32_t i = 0; i < 10; ++i) {
    for (const char slot : {'A', 'B'}) {
      Unit unit;
      unit.slot = slot;
      unit.process = i;
      unit.order_index = 2 * i + (slot == 'B' ? 1 : 0);
      const bool b = slot == 'B';
      const double noise = 1 + 0.0005 * (i * 7 % 10);
      const double time = (b ? b_slower : 1) * noise;
      Sample sample;
      sample.metrics = {{"latency_s", time},
                        {"own_s", time},
                        {"cpu_s", time * cpu_share},
                        {"cycles", (b ? b_cycles : 1) * 3e9 * noise}};
      unit.samples.push_back(sample);
      cell.units.push_back(unit);
    }
  }
  return cell;
}

Verdict verdict_on_time(Cell cell) {
  BenchResult result;
  result.cells.push_back(std::move(cell));
  return compare_sides(result, {}).front().judgement.verdict;
}

TEST(ClockShift, IsSlowerWithTheSameCycles) {
  EXPECT_EQ(verdict_on_time(counted_cell(1.1, 1, 1)), Verdict::clock_shift);
  EXPECT_EQ(verdict_on_time(counted_cell(1.1, 1.1, 1)), Verdict::regressed);
}

TEST(ClockShift, IsNotSaidOfWhatWaits) {
  // A program that sleeps longer needs no more cycles; it is slower all the same.
  EXPECT_EQ(verdict_on_time(counted_cell(1.1, 1, 0.3)), Verdict::regressed);
}

}  // namespace
}  // namespace genscope::bench
