// Refreshes before the time is up, on a clock that the tests turn.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "genscope/optimize/cache.h"

namespace genscope::optimize {
namespace {

class EarlyRefresh : public ::testing::Test {
 protected:
  CacheOptions options(double early, double ttl_s = 100, double soft_s = 0) {
    CacheOptions made;
    made.capacity_bytes = 100'000;
    made.ttl_s = ttl_s;
    made.soft_ttl_s = soft_s;
    made.ttl_jitter = 0;
    made.early_refresh = early;
    made.now_ns = [this] { return ns_.load(); };
    return made;
  }
  void pass(double seconds) { ns_ += static_cast<std::int64_t>(seconds * 1e9); }
  static Key key(int number = 1) { return KeyBuilder("early").add(number).build(); }
  static Value number(int is) { return Value::of(is, 1); }
  // The share of entries whose hit is told to make them anew.
  static double share(Cache& cache, int count) {
    int leads = 0;
    for (int i = 0; i < count; ++i) {
      Fetched got = cache.begin(key(i), {});
      EXPECT_EQ(got.outcome, Outcome::hit);
      EXPECT_TRUE(got.value);
      leads += got.lead ? 1 : 0;
    }
    return static_cast<double>(leads) / count;
  }
  std::atomic<std::int64_t> ns_ = 1'000'000'000;
};

// XFetch: with `left` seconds to go, a hit leads with a chance of exp(-left / (cost * early)).
TEST_F(EarlyRefresh, IsAsLikelyAsCostAndTimeLeftSay) {
  constexpr int kCount = 4'000;
  for (const double early : {1.0, 2.0}) {
    for (const double soft_s : {0.0, 60.0}) {  // it is the first of the two times that counts
      Cache cache(options(early, 100, soft_s));
      for (int i = 0; i < kCount; ++i) cache.put(key(i), number(i), {.cost_s = 5});
      const double ends = soft_s > 0 ? soft_s : 100;
      for (const double left : {ends, 10.0, 5.0, 1.0}) {
        pass(ends - left);
        EXPECT_NEAR(share(cache, kCount), std::exp(-left / (5 * early)), 0.03) << left;
        pass(left - ends);
      }
    }
  }
}

TEST_F(EarlyRefresh, NeedsACostAndHasToBeAskedFor) {
  Cache off(options(0)), on(options(1));
  off.put(key(0), number(0), {.cost_s = 5});
  on.put(key(0), number(0));
  pass(99.9);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(share(off, 1), 0);
    EXPECT_EQ(share(on, 1), 0);
  }
}

TEST_F(EarlyRefresh, OneMakesItAnewAndTheOthersGetWhatIsThere) {
  Cache cache(options(1));
  cache.put(key(), number(1), {.cost_s = 5});
  pass(99);
  const auto until_it_leads = [&] {
    for (int i = 0; i < 1'000; ++i) {
      Fetched got = cache.begin(key(), {});
      if (got.lead) return got;
    }
    return Fetched();
  };
  Fetched first = until_it_leads();
  ASSERT_TRUE(first.lead);
  EXPECT_EQ(first.outcome, Outcome::hit);
  EXPECT_EQ(*first.value.as<int>(), 1);
  EXPECT_FALSE(until_it_leads().lead);  // all of them hits
  first.lead.abandon();
  Fetched second = until_it_leads();
  ASSERT_TRUE(second.lead);
  // The time runs out while it is made: whoever comes now waits for the same load.
  pass(2);
  int waited = 0;
  EXPECT_EQ(cache.begin(key(), [&](Fetched mail) { waited = *mail.value.as<int>(); }).outcome,
            Outcome::wait);
  second.lead.finish(number(2), {.cost_s = 5});
  EXPECT_EQ(waited, 2);
  EXPECT_EQ(*cache.get(key()).as<int>(), 2);
  EXPECT_FALSE(until_it_leads().lead);  // it is new
  const KindStats stats = cache.stats().total;
  EXPECT_EQ(stats.early, 2U);
  EXPECT_EQ(stats.loads, 1U);
  EXPECT_EQ(stats.stale, 0U);
}

TEST_F(EarlyRefresh, ABlockingCallHasItMadeOnAThreadOfTheCache) {
  Cache cache(options(1));
  cache.put(key(), number(1), {.cost_s = 5});
  pass(99.9);
  std::atomic<int> loads = 0;
  const std::thread::id here = std::this_thread::get_id();
  while (cache.stats().total.loads == 0) {
    const Fetched got = cache.get_or_load(key(), [&](const std::stop_token&) -> Result<Value> {
      EXPECT_NE(std::this_thread::get_id(), here);
      ++loads;
      return number(2);
    });
    ASSERT_EQ(got.outcome, Outcome::hit);
    std::this_thread::yield();
  }
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(*cache.get(key()).as<int>(), 2);
}

TEST_F(EarlyRefresh, ManyThreadsStartOneLoadAtATime) {
  Cache cache(options(1));
  cache.put(key(), number(1), {.cost_s = 5});
  pass(99.9);
  std::atomic<int> running = 0, most = 0, leads = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) {
        Fetched got = cache.begin(key(), {});
        if (!got.lead) continue;
        ++leads;
        const int now = ++running;
        if (now > most) most = now;
        --running;
        got.lead.abandon();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GT(leads, 1'000);
}

}  // namespace
}  // namespace genscope::optimize
