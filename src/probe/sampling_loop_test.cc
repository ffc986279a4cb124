#include "probe/sampling_loop.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/own_threads.h"
#include "probe/fake_probe.h"
#include "testing/sanitizer.h"
#include "testing/units.h"

namespace genscope::probe {
namespace {

using testing::kMs;
using testing::kSecond;

struct LoopTest : ::testing::Test {
  void open(SamplerOptions options = {}) {
    options.sink = &sink;
    loop = std::make_unique<SamplingLoop>(options);
    auto owned = std::make_unique<FakeProbe>();
    probe = owned.get();
    loop->add(std::move(owned));
    loop->open(0);
  }
  int samples(Tier tier) const { return probe->samples[static_cast<std::size_t>(tier)]; }

  FakeSink sink;
  std::unique_ptr<SamplingLoop> loop;
  FakeProbe* probe = nullptr;
};

TEST_F(LoopTest, ReadsEachTierAtItsOwnRate) {
  open();
  std::int64_t now = 0;
  while (now < 10 * kSecond) now = loop->run_due(now);
  EXPECT_EQ(samples(Tier::fast), 100);
  EXPECT_EQ(samples(Tier::normal), 10);
  EXPECT_EQ(samples(Tier::slow), 2);
  EXPECT_EQ(samples(Tier::on_demand), 0);
  EXPECT_EQ(loop->stats().missed_ticks, 0u);
}

TEST_F(LoopTest, SkipsAndCountsWhatItMissedInsteadOfBunching) {
  open();
  std::int64_t next = loop->run_due(0);
  EXPECT_EQ(next, 100 * kMs);
  next = loop->run_due(950 * kMs);  // eight deadlines late
  EXPECT_EQ(samples(Tier::fast), 2);
  EXPECT_EQ(next, 1000 * kMs);  // back on the grid
  EXPECT_EQ(loop->stats().missed_ticks, 8u);
  next = loop->run_due(next + 99 * kMs);  // late by less than a period: none missed
  EXPECT_EQ(loop->stats().missed_ticks, 8u);
}

TEST_F(LoopTest, OpensAgainWhenAProbeAsks) {
  open();
  EXPECT_EQ(probe->opens, 1);
  probe->rescan = true;
  std::int64_t now = loop->run_due(0);
  while (now <= kSecond) now = loop->run_due(now);
  EXPECT_EQ(probe->opens, 2);
  EXPECT_EQ(loop->board().snapshot().entities.size(), 2u);  // the fake and genscope itself
}

TEST_F(LoopTest, SlowsADearProbeAndSaysSo) {
  open({.budget_ratio = 1e-7});
  probe->on_sample = [](Tier, std::int64_t, Board&, FakeProbe&) {
    const auto until = base::clock_ns(CLOCK_THREAD_CPUTIME_ID) + 20'000;
    while (base::clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
  };
  std::int64_t now = 0;
  while (now < 20 * kSecond) now = loop->run_due(now);
  EXPECT_LT(samples(Tier::fast), 150);
  EXPECT_GT(loop->stats().slowed, 0u);
  EXPECT_NE(std::find(sink.events.begin(), sink.events.end(), "probe_slowed"), sink.events.end());
  EXPECT_GT(loop->reports()[0].tier_period_ns[0], 100 * kMs);
}

TEST_F(LoopTest, ReportsWhatItCosts) {
  const base::OwnThread counted;
  open();
  std::int64_t now = 0;
  while (now < 3 * kSecond) now = loop->run_due(now);
  const Snapshot snapshot = loop->board().snapshot();
  const auto* cpu = snapshot.find(0, "probe_cpu_ns");
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->reading.status, SampleStatus::ok);
  EXPECT_GT(cpu->reading.value, 0);
  EXPECT_EQ(snapshot.find(0, "probe_cpu_ratio")->reading.status, SampleStatus::ok);
}

std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  file >> size >> resident;
  return resident;
}
std::size_t open_files() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(LoopTest, AnHourOfVirtualTimeLeavesMemoryAndFilesFlat) {
  open({.history = true});
  sink.readings.reserve(200'000);
  probe->on_sample = [](Tier tier, std::int64_t now, Board& board, FakeProbe& self) {
    if (tier == Tier::fast) board.set(self.gauge, static_cast<double>(now % 1000));
    if (tier == Tier::normal) board.set(self.count, static_cast<double>(now));
  };
  std::int64_t now = 0;
  while (now < 60 * kSecond) now = loop->run_due(now);
  const std::size_t pages = resident_pages(), files = open_files();
  while (now < 3600 * kSecond) {
    now = loop->run_due(now);
    if (sink.readings.size() > 150'000) sink.readings.clear();
  }
  if (!testing::kSanitized) {                   // whose shadow grows with what is touched
    EXPECT_LE(resident_pages(), pages + 1200);  // the vector above, touched for the first time
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(samples(Tier::fast), 36'000);
}

}  // namespace
}  // namespace genscope::probe
