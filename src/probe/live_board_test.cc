#include "probe/live_board.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "probe/fake_probe.h"
#include "testing/units.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

using testing::kSecond;

struct BoardTest : ::testing::Test {
  void tick(std::int64_t at_ns, double value) {
    board.begin_tick(at_ns);
    board.set(counter, value);
    board.end_tick();
  }
  Snapshot::Series last() const { return *board.snapshot().find(gpu, "energy_joules"); }

  LiveBoard board{SamplerOptions{.max_entities = 2, .max_series = 3, .history = true}};
  std::uint32_t gpu = board.add_entity({EntityKind::gpu, "gpu0", "A GPU", {}});
  std::uint32_t counter =
      board.add_series(gpu, trace::metric("energy_joules"), Tier::fast, "its counter");
  std::uint32_t busy = board.add_series(gpu, trace::metric("busy_ratio"), Tier::fast, "its file");
};

TEST_F(BoardTest, HasNoValueBeforeTheFirstReading) {
  EXPECT_EQ(last().reading.status, SampleStatus::pending);
  EXPECT_EQ(last().rate.status, SampleStatus::pending);
}

TEST_F(BoardTest, TakesRatesOverTheRealTime) {
  tick(1 * kSecond, 100);
  EXPECT_EQ(last().rate.status, SampleStatus::pending);
  tick(3 * kSecond, 700);
  EXPECT_EQ(last().rate.status, SampleStatus::ok);
  EXPECT_DOUBLE_EQ(last().rate.value, 300);
}

TEST_F(BoardTest, KeepsTheRateWhenACounterIsReadTwiceInATick) {
  tick(1 * kSecond, 100);
  tick(2 * kSecond, 200);
  tick(2 * kSecond, 201);
  EXPECT_EQ(last().rate.status, SampleStatus::ok);
  EXPECT_DOUBLE_EQ(last().rate.value, 100);
}

TEST_F(BoardTest, TakesNoRateAcrossAReset) {
  tick(1 * kSecond, 100);
  tick(2 * kSecond, 5);
  EXPECT_EQ(last().rate.status, SampleStatus::pending);
  tick(3 * kSecond, 25);
  EXPECT_DOUBLE_EQ(last().rate.value, 20);
}

TEST_F(BoardTest, TakesNoRateAcrossALossOrASleep) {
  tick(1 * kSecond, 100);
  board.set_all(gpu, SampleStatus::lost, "gone");
  EXPECT_EQ(last().rate.status, SampleStatus::lost);
  tick(2 * kSecond, 200);
  EXPECT_EQ(last().rate.status, SampleStatus::pending);
  tick(3 * kSecond, 300);
  EXPECT_EQ(last().rate.status, SampleStatus::ok);
  board.break_rates();
  tick(4 * kSecond, 900);
  EXPECT_EQ(last().rate.status, SampleStatus::pending);
}

TEST_F(BoardTest, CallsValuesOutOfRangeImplausible) {
  for (const double value : {4294967295.0, -0.5, std::nan(""), HUGE_VAL}) {
    board.begin_tick(kSecond);
    board.set(busy, value);
    board.end_tick();
    EXPECT_EQ(board.snapshot().find(gpu, "busy_ratio")->reading.status, SampleStatus::implausible);
  }
}

TEST_F(BoardTest, GivesTheSameNumberForTheSameThing) {
  EXPECT_EQ(board.add_entity({EntityKind::gpu, "gpu0", "renamed", {}}), gpu);
  EXPECT_EQ(board.snapshot().entities[gpu].name, "renamed");
  EXPECT_EQ(board.add_series(gpu, trace::metric("busy_ratio"), Tier::fast, "elsewhere"), busy);
  EXPECT_EQ(board.snapshot().find(gpu, "busy_ratio")->source, "elsewhere");
}

TEST_F(BoardTest, RefusesAndCountsWhatDoesNotFit) {
  EXPECT_NE(board.add_series(gpu, trace::metric("power_watts"), Tier::fast, ""), kNoSeries);
  EXPECT_EQ(board.add_series(gpu, trace::metric("fan_ratio"), Tier::fast, ""), kNoSeries);
  EXPECT_NE(board.add_entity({EntityKind::gpu, "gpu1", "", {}}), kNoSeries);
  EXPECT_EQ(board.add_entity({EntityKind::gpu, "gpu2", "", {}}), kNoSeries);
  EXPECT_EQ(board.refused(), 2u);
  board.set(kNoSeries, 1);  // harmless
  EXPECT_EQ(board.add_series(kNoSeries, trace::metric("fan_ratio"), Tier::fast, ""), kNoSeries);
}

TEST_F(BoardTest, KeepsHistoryOfGoodReadingsOnly) {
  tick(1 * kSecond, 100);
  board.begin_tick(2 * kSecond);
  board.set(counter, SampleStatus::stale, nullptr);
  board.end_tick();
  tick(3 * kSecond, 300);
  EXPECT_EQ(board.history(counter, 100, 10).size(), 2u);
  EXPECT_TRUE(board.history(99, 100, 10).empty());
}

TEST_F(BoardTest, KeepsTheFirstProcesses) {
  std::vector<ProcessRow> rows(kMaxProcessRows + 5);
  rows[0].pid = 7;
  board.set_processes(gpu, rows);
  const Snapshot snapshot = board.snapshot();
  ASSERT_EQ(snapshot.processes.size(), 1u);
  EXPECT_EQ(snapshot.processes[0].rows.size(), kMaxProcessRows);
  EXPECT_EQ(snapshot.processes[0].rows[0].pid, 7u);
}

TEST_F(BoardTest, AReaderSeesWholeTicks) {
  std::thread writer([&] {
    for (int i = 1; i <= 2'000; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      board.begin_tick(i);
      board.set(counter, i);
      board.set(busy, i / 2000.0);
      board.end_tick();
    }
  });
  double last_seen = 0;
  while (last_seen < 2'000) {
    const Snapshot snapshot = board.snapshot();
    const Reading& joules = snapshot.find(gpu, "energy_joules")->reading;
    const Reading& ratio = snapshot.find(gpu, "busy_ratio")->reading;
    if (joules.status != SampleStatus::ok || ratio.status != SampleStatus::ok) continue;
    ASSERT_DOUBLE_EQ(ratio.value * 2'000, joules.value);
    ASSERT_GE(joules.value, last_seen);
    last_seen = joules.value;
  }
  writer.join();
}

}  // namespace
}  // namespace genscope::probe
