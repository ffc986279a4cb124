#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include <genscope/optimize/retry.h>

#include "optimize/flow/quantile.h"
#include "testing/random.h"

namespace genscope::optimize {
namespace {

constexpr std::int64_t kSec = 1'000'000'000;

void call_breaker(Breaker& breaker, int count, bool ok, std::int64_t now, double seconds = 0.01) {
  for (int i = 0; i < count; ++i) {
    if (const auto pass = breaker.ask(now)) breaker.tell(*pass, ok, seconds, now);
  }
}

TEST(Breaker, OpensAtHalfFailuresButNotBeforeTwentyCalls) {
  Breaker breaker;
  call_breaker(breaker, 19, false, 0);
  EXPECT_EQ(breaker.state(0), BreakerState::closed);
  call_breaker(breaker, 1, false, 0);
  EXPECT_EQ(breaker.state(0), BreakerState::open);
  EXPECT_FALSE(breaker.ask(0));
  EXPECT_EQ(breaker.refused(), 1u);
  EXPECT_DOUBLE_EQ(breaker.retry_after_seconds(kSec), 4);
}

TEST(Breaker, ForgetsWhatLeftTheWindow) {
  Breaker mixed;
  for (int i = 0; i < 40; ++i) call_breaker(mixed, 1, i % 5 != 0, 0);
  call_breaker(mixed, 100, true, 0);
  for (int i = 0; i < 49; ++i) call_breaker(mixed, 1, false, 0);
  EXPECT_EQ(mixed.state(0), BreakerState::closed);  // 49 of the last 100
  call_breaker(mixed, 1, false, 0);
  EXPECT_EQ(mixed.state(0), BreakerState::open);
}

TEST(Breaker, OpensForSlowCallsThatSucceed) {
  Breaker breaker({.slow_seconds = 1});
  call_breaker(breaker, 20, true, 0, 2);
  EXPECT_EQ(breaker.state(0), BreakerState::open);
}

TEST(Breaker, LetsFiveProbesThroughAndClosesIfTheySucceed) {
  Breaker breaker;
  call_breaker(breaker, 20, false, 0);
  EXPECT_EQ(breaker.state(5 * kSec), BreakerState::half_open);
  std::vector<Breaker::Pass> probes;
  for (int i = 0; i < 8; ++i) {
    if (const auto pass = breaker.ask(5 * kSec)) probes.push_back(*pass);
  }
  ASSERT_EQ(probes.size(), 5u);
  for (const Breaker::Pass pass : probes) breaker.tell(pass, true, 0.01, 5 * kSec);
  EXPECT_EQ(breaker.state(5 * kSec), BreakerState::closed);
}

TEST(Breaker, DoublesItsOpenTimeUpToAMinute) {
  Breaker breaker;
  call_breaker(breaker, 20, false, 0);
  std::int64_t now = 0;
  for (const int expected : {5, 10, 20, 40, 60, 60}) {
    EXPECT_DOUBLE_EQ(breaker.retry_after_seconds(now), expected);
    now += expected * kSec;
    call_breaker(breaker, 5, false, now);
  }
}

TEST(Breaker, IgnoresOutcomesOfAnEarlierRound) {
  Breaker breaker;
  const auto old = breaker.ask(0);
  call_breaker(breaker, 20, false, 0);
  for (int i = 0; i < 5; ++i) breaker.tell(*old, true, 0.01, 5 * kSec);
  EXPECT_EQ(breaker.state(5 * kSec), BreakerState::half_open);
}

TEST(Breaker, ProbesThatNeverEndDoNotKeepItHalfOpen) {
  Breaker breaker;
  call_breaker(breaker, 20, false, 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(breaker.ask(5 * kSec));
  EXPECT_FALSE(breaker.ask(6 * kSec));
  EXPECT_TRUE(breaker.ask(10 * kSec));
}

TEST(Breaker, ServesManyThreads) {
  Breaker breaker({.open_seconds = 0});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&breaker, t] {
      for (int i = 0; i < 2000; ++i) {
        if (const auto pass = breaker.ask()) breaker.tell(*pass, (i + t) % 3 == 0, 0.001);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(static_cast<int>(breaker.state()), 2);
}

TEST(StreamingQuantile, IsWithinThreePercent) {
  StreamingQuantile times;
  EXPECT_FALSE(times.at(0.95));
  for (int i = 1; i <= 900; ++i) times.add(i * 0.001);
  EXPECT_NEAR(*times.at(0.5), 0.450, 0.015);
  EXPECT_NEAR(*times.at(0.95), 0.855, 0.027);
  EXPECT_FALSE(times.at(0.9999));  // 900 samples cannot tell
}

TEST(StreamingQuantile, ForgetsOldTimes) {
  StreamingQuantile times(200);
  for (int i = 0; i < 1000; ++i) times.add(10);
  for (int i = 0; i < 2000; ++i) times.add(0.1);
  EXPECT_NEAR(*times.at(0.95), 0.1, 0.003);
}

TEST(Hedge, NeverCopiesToTheSameDeviceNorMoreThanItsShare) {
  Hedge hedge;
  testing::Random random(2);
  std::vector<int> used(4);
  for (int i = 0; i < 20000; ++i) {
    hedge.begin();
    hedge.finished(0.1);
    const std::size_t first = random.below(4);
    if (const auto other = hedge.copy(4, first)) {  // every call is slow
      EXPECT_NE(*other, first);
      EXPECT_LT(*other, 4u);
      ++used[*other];
    }
    ASSERT_LE(static_cast<double>(hedge.copies()),
              0.05 * static_cast<double>(hedge.calls()) + 1e-6);
  }
  EXPECT_EQ(hedge.copies(), 1000u);
  for (const int count : used) EXPECT_GT(count, 100);
  EXPECT_FALSE(hedge.copy(1, 0));
}

TEST(Hedge, WaitsForTheQuantileOfPastCalls) {
  Hedge hedge;
  EXPECT_FALSE(hedge.begin());
  for (int i = 0; i < 100; ++i) hedge.finished(0.2);
  EXPECT_NEAR(static_cast<double>(*hedge.begin()) * 1e-9, 0.2, 0.007);
}

TEST(Hedge, TakesTheCopyThatAnswersFirstAndStopsTheOther) {
  Hedge hedge({.extra_ratio = 1});
  for (int i = 0; i < 40; ++i) hedge.finished(1e-5);
  std::atomic<bool> stopped = false;
  const Tried<std::size_t> got = hedge.run<std::size_t>(
      2, 0, [&](std::size_t device, std::stop_token stop) -> Tried<std::size_t> {
        if (device == 1) return device;
        while (!stop.stop_requested()) std::this_thread::yield();  // the next checkpoint
        stopped = true;
        return Failed{Failure::cancelled, "stopped", {}};
      });
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got.value(), 1u);
  while (!stopped) std::this_thread::yield();
  EXPECT_EQ(hedge.copies(), 1u);
}

TEST(Hedge, GivesTheFailureIfNoCopySucceeds) {
  Hedge hedge;
  const Tried<int> got = hedge.run<int>(2, 0, [](std::size_t, std::stop_token) -> Tried<int> {
    return Failed{Failure::lost_worker, "gone", {}};
  });
  EXPECT_EQ(got.failure().kind, Failure::lost_worker);
}

}  // namespace
}  // namespace genscope::optimize
