#include "watch/summary.h"
#include "testing/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace genscope::watch {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using testing::kGiB;
using testing::kSecond;

// Feeds totals as a sampler would.
struct Feed {
  RunTotals totals;
  std::uint32_t entities = 0, series = 0;

  std::uint32_t entity(EntityKind kind, const std::string& name) {
    totals.add_entity(entities, {kind, name, name, {}});
    return entities++;
  }
  std::uint32_t metric(std::uint32_t entity, const char* id) {
    totals.add_series(series, entity, *find_metric(id), "test");
    return series++;
  }
  void read(std::uint32_t s, double second, double value) {
    totals.add_reading(s, {.value = value,
                           .status = SampleStatus::ok,
                           .at_ns = static_cast<std::int64_t>(second * kSecond)});
  }
  void fail(std::uint32_t s, double second, SampleStatus status) {
    totals.add_reading(
        s, {.value = 1e9, .status = status, .at_ns = static_cast<std::int64_t>(second * kSecond)});
  }
};

TEST(RunTotals, KeepPeaksThatLaterReadingsLack) {
  Feed feed;
  const auto tree = feed.entity(EntityKind::process_tree, "tree");
  const auto rss = feed.metric(tree, "rss_bytes");
  feed.read(rss, 1, 5);
  feed.read(rss, 2, 50);
  feed.fail(rss, 3, SampleStatus::error);
  feed.read(rss, 4, 7);
  const SeriesTotal* total = feed.totals.find(tree, "rss_bytes");
  ASSERT_NE(total, nullptr);
  EXPECT_EQ(total->max, 50);
  EXPECT_EQ(total->last, 7);
  EXPECT_EQ(total->values, 3u);
}

TEST(RunTotals, WhatNeverHadAValueIsNotThere) {
  Feed feed;
  const auto tree = feed.entity(EntityKind::process_tree, "tree");
  feed.fail(feed.metric(tree, "rss_bytes"), 1, SampleStatus::not_permitted);
  EXPECT_EQ(feed.totals.find(tree, "rss_bytes"), nullptr);
  EXPECT_EQ(feed.totals.find(tree, "threads"), nullptr);
  feed.totals.add_reading(4000, {.value = 1, .status = SampleStatus::ok});  // never announced
}

TEST(RunTotals, ACountersResetIsNoGrowth) {
  Feed feed;
  const auto cpu = feed.entity(EntityKind::cpu_package, "package");
  const auto energy = feed.metric(cpu, "energy_joules");
  for (const auto& [at, joules] : {std::pair{1, 100.0}, {2, 150.0}, {3, 10.0}, {4, 30.0}}) {
    feed.read(energy, at, joules);
  }
  EXPECT_EQ(feed.totals.find(cpu, "energy_joules")->grown, 70);
}

TEST(RunTotals, GapsAreNotIntegrated) {
  Feed feed;
  const auto gpu = feed.entity(EntityKind::gpu, "gpu");
  const auto power = feed.metric(gpu, "power_watts");
  feed.read(power, 0, 300);
  feed.read(power, 10, 300);
  feed.read(power, 1000, 300);
  feed.read(power, 1010, 300);
  EXPECT_DOUBLE_EQ(feed.totals.find(gpu, "power_watts")->integral, 300 * 20);
  EXPECT_DOUBLE_EQ(feed.totals.find(gpu, "power_watts")->covered_seconds, 20);
}

TEST(Summary, TakesTheKernelsPeakOnlyAboveOurOwn) {
  Ending ending;
  ending.usage.ru_maxrss = 1000;
  ending.own_maxrss_kib = 1000;
  EXPECT_FALSE(figures_of(RunTotals(), ending).rss_peak_bytes);
  ending.usage.ru_maxrss = 2000;
  EXPECT_EQ(figures_of(RunTotals(), ending).rss_peak_bytes, 2000 * 1024.0);
}

TEST(Summary, SaysWhatIsKnown) {
  Feed feed;
  const auto tree = feed.entity(EntityKind::process_tree, "tree");
  feed.read(feed.metric(tree, "rss_bytes"), 1, 3 * kGiB);
  feed.read(feed.metric(tree, "rss_anon_bytes"), 1, 2 * kGiB);
  feed.read(feed.metric(tree, "io_read_bytes"), 1, 5 * kGiB);
  feed.read(feed.metric(tree, "processes"), 1, 4);
  feed.read(feed.metric(feed.entity(EntityKind::machine, "m"), "cpu_count"), 1, 8);
  const auto gpu = feed.entity(EntityKind::gpu, "NVIDIA H100");
  const auto power = feed.metric(gpu, "power_watts");
  const auto bits = feed.metric(gpu, "throttle_reasons");
  for (const double at : {0.0, 10.0}) {
    feed.read(power, at, 300);
    feed.read(bits, at, 4);
  }
  feed.read(feed.metric(gpu, "memory_used_bytes"), 1, 20 * kGiB);
  feed.read(feed.metric(gpu, "memory_total_bytes"), 1, 80 * kGiB);
  Ending ending;
  ending.exit_code = 139;
  ending.wall_seconds = 10;
  ending.usage.ru_utime.tv_sec = 25;
  ending.left = {{42, "server\x1b"}};
  ending.left_count = 3;
  EXPECT_EQ(summary_text(figures_of(feed.totals, ending), "python gen.py", "",
                         {.width = 120, .color = false, .unicode = true}),
            "genscope: python gen.py  exit 139 (SIGSEGV)\n"
            "  wall      10.0 s\n"
            "  CPU       25.0 s, 2.50 cores on average of 8.00\n"
            "  memory    peak 3.00 GiB resident, 2.00 GiB anonymous\n"
            "  I/O       read 5.00 GiB, written n/a\n"
            "  energy    CPU n/a, GPUs 3.00 kJ from power\n"
            "  processes 4 at once\n"
            "            3 still run: 42 server?, ...\n"
            "  GPU 0     NVIDIA H100  peak 20.0/80.0 GiB  busy n/a  300 W  n/a  3.00 kJ from power"
            "  power cap 100% of the time\n");
}

TEST(Summary, WithoutAGpuTheReasonIsGiven) {
  const std::string text =
      summary_text(figures_of(RunTotals(), Ending()), "x", "no library", Look());
  EXPECT_THAT(text, HasSubstr("GPU       n/a: no library"));
  EXPECT_THAT(text, HasSubstr("peak n/a resident"));
  EXPECT_THAT(summary_text({}, "x", "", Look()), Not(HasSubstr("GPU")));
}

}  // namespace
}  // namespace genscope::watch
