#include "analyze/resources/time_split.h"

#include <gtest/gtest.h>

#include "analyze/testing/samples.h"

namespace genscope {
namespace {

using testing::add_entity;
using testing::add_readings;
using testing::kSecond;
using testing::TraceBuilder;

// Rates of the counters a second, and the state at each tenth of one.
template <class State>
TimeSplit split_of(double cores, double waiting, State&& state) {
  TraceBuilder t;
  add_entity(t, EntityKind::process_tree, "tree");
  add_readings(t, "tree/cpu_ns", 0, 11 * kSecond, kSecond / 10,
               [&](double s) { return s * cores * 1e9; });
  add_readings(t, "tree/cpu_wait_ns", 0, 11 * kSecond, kSecond,
               [&](double s) { return s * waiting * 1e9; });
  add_readings(t, "tree/storage_wait", 0, 11 * kSecond, kSecond / 10, state);
  return analyze(testing::make_run(t.trace())).resources.time;
}

constexpr auto kNever = [](double) { return 0.0; };
constexpr auto kEver = [](double) { return 1.0; };

TEST(TimeSplit, OfOneThreadIsWhatTheKernelSays) {
  const TimeSplit split = split_of(0.5, 0.25, kNever);
  EXPECT_NEAR(*split.on_cpu_share, 0.5, 1e-9);
  EXPECT_NEAR(*split.ready_share, 0.25, 1e-9);
  EXPECT_EQ(*split.storage_share, 0);
  EXPECT_NEAR(*split.other_share, 0.25, 1e-9);
  EXPECT_NEAR(*split.cpu_wait_share, 1.0 / 3, 1e-9);
  EXPECT_NEAR(split.covered_seconds, 10, 1e-9);
  EXPECT_EQ(split.reason, "");
}

TEST(TimeSplit, SharesAddUpToOneWhateverRuns) {
  for (const double cores : {0.0, 0.3, 1.0, 3.7}) {
    for (const double waiting : {0.0, 0.4, 5.0}) {
      for (const auto state : {+[](double) { return 0.0; }, +[](double) { return 1.0; }}) {
        const TimeSplit split = split_of(cores, waiting, state);
        EXPECT_NEAR(
            *split.on_cpu_share + *split.ready_share + *split.storage_share + *split.other_share, 1,
            1e-9);
        EXPECT_LE(*split.on_cpu_share, 1);
      }
    }
  }
  const TimeSplit many = split_of(2, 6, kEver);
  EXPECT_EQ(*many.on_cpu_share, 1);
  EXPECT_NEAR(*many.cpu_wait_share, 0.75, 1e-9) << "of the threads' time, not of the wall time";
}

TEST(TimeSplit, StorageIsWhatTheStatesSayOfTheTimeThatIsLeft) {
  const TimeSplit split = split_of(0.3, 0, kEver);
  EXPECT_NEAR(*split.storage_share, 0.7, 1e-9);
  EXPECT_NEAR(*split.other_share, 0, 1e-9);
}

TEST(TimeSplit, AStateThatSaysRunningTellsNothingOfTheWaits) {
  TraceBuilder t;
  add_entity(t, EntityKind::process_tree, "tree");
  for (const char* const counter : {"tree/cpu_ns", "tree/cpu_wait_ns"}) {
    add_readings(t, counter, 0, 11 * kSecond, kSecond, [](double s) { return s * 3e8; });
  }
  // Of ten states seven say running, two say storage, one says asleep.
  int look = 0;
  add_readings(t, "tree/storage_wait", 0, 11 * kSecond, kSecond / 10,
               [&](double) { return look++ % 10 < 2 ? 1.0 : 0.0; });
  look = 0;
  add_readings(t, "tree/asleep", 0, 11 * kSecond, kSecond / 10,
               [&](double) { return look++ % 10 < 3 ? 1.0 : 0.0; });
  const TimeSplit split = analyze(testing::make_run(t.trace())).resources.time;
  EXPECT_NEAR(*split.storage_share, 0.4 * 2 / 3, 0.04);
  EXPECT_NEAR(*split.other_share, 0.4 * 1 / 3, 0.04);
}

TEST(TimeSplit, AStretchAfterTheLastStateIsAsTheOthers) {
  TraceBuilder t;
  add_entity(t, EntityKind::process_tree, "tree");
  for (const char* const counter : {"tree/cpu_ns", "tree/cpu_wait_ns"}) {
    add_readings(t, counter, 0, 5 * kSecond, kSecond, [](double s) { return s * 1e8; });
  }
  add_readings(t, "tree/storage_wait", 0, 3 * kSecond, kSecond / 10, kEver);
  const TimeSplit split = analyze(testing::make_run(t.trace())).resources.time;
  EXPECT_NEAR(*split.storage_share, 0.8, 1e-9);
  EXPECT_EQ(split.reason, "");
}

TEST(TimeSplit, TellsOfThreadsWhatWasReadOfThemLast) {
  TraceBuilder t;
  add_entity(t, EntityKind::process_tree, "tree");
  const auto told = [&](std::int64_t at, const char* detail) {
    testing::add_event(t, "genscope.thread", at, {{"entity", "tree"}, {"detail", detail}});
  };
  told(kSecond, "10 11 1000000000 500000000 100000000 1 0 worker");
  told(2 * kSecond, "10 10 2000000000 100000000 0 4 2 main thread");
  told(3 * kSecond, "10 11 4000000000 3000000000 1000000000 4 0 worker");
  told(3 * kSecond, "nonsense");
  told(3 * kSecond, "10 12 0 1 1 1 0 x");
  const Analysis analysis = analyze(testing::make_run(t.trace()));
  const std::vector<ThreadTime>& threads = analysis.resources.time.threads;
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].name, "worker");
  EXPECT_EQ(threads[0].tid, 11u);
  EXPECT_NEAR(threads[0].seen_seconds, 4, 1e-9);
  EXPECT_NEAR(threads[0].on_cpu_share, 0.75, 1e-9);
  EXPECT_NEAR(threads[0].ready_share, 0.25, 1e-9);
  EXPECT_NEAR(threads[0].other_share, 0, 1e-9);
  EXPECT_EQ(threads[1].name, "main thread");
  EXPECT_NEAR(*threads[1].storage_share, 0.475, 1e-9);
  EXPECT_NEAR(threads[1].other_share, 0.475, 1e-9);
  EXPECT_TRUE(analysis.telemetry.events.empty()) << "they are figures";
}

TEST(TimeSplit, IsAbsentWithAReason) {
  TraceBuilder none;
  none.span("stage", SpanKind::stage, 0, kSecond);
  const TimeSplit nobody = analyze(testing::make_run(none.trace())).resources.time;
  EXPECT_FALSE(nobody.on_cpu_share);
  EXPECT_NE(nobody.reason, "");

  TraceBuilder old;
  add_entity(old, EntityKind::process_tree, "tree");
  add_readings(old, "tree/cpu_ns", 0, 5 * kSecond, kSecond, [](double s) { return s * 1e9; });
  const TimeSplit before = analyze(testing::make_run(old.trace())).resources.time;
  EXPECT_FALSE(before.on_cpu_share);
  EXPECT_NE(before.reason, "");

  TraceBuilder stateless;
  add_entity(stateless, EntityKind::process_tree, "tree");
  for (const char* const counter : {"tree/cpu_ns", "tree/cpu_wait_ns"}) {
    add_readings(stateless, counter, 0, 5 * kSecond, kSecond, [](double s) { return s * 1e8; });
  }
  const TimeSplit some = analyze(testing::make_run(stateless.trace())).resources.time;
  EXPECT_TRUE(some.on_cpu_share);
  EXPECT_FALSE(some.storage_share);
  EXPECT_FALSE(some.other_share);
  EXPECT_NE(some.reason, "");
}

}  // namespace
}  // namespace genscope
