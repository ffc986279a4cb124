#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <random>
#include <thread>

#include "genscope/optimize/cache.h"

namespace genscope::optimize {
namespace {

Key flight_key(int number = 1) { return KeyBuilder("flight").add(number).build(); }
Value flight_value(int number) { return Value::of(number, 1); }

struct TurnedClock {
  std::shared_ptr<std::atomic<std::int64_t>> ns =
      std::make_shared<std::atomic<std::int64_t>>(1'000'000'000);
  void pass(double seconds) { *ns += static_cast<std::int64_t>(seconds * 1e9); }
  std::function<std::int64_t()> function() const {
    return [ns = ns] { return ns->load(); };
  }
};

TEST(CacheFlights, AThousandConcurrentMissesAreOneLoad) {
  Cache cache({.capacity_bytes = 100});
  std::atomic<int> loads = 0, right = 0;
  constexpr int kThreads = 8, kEach = 125;
  Fetched first = cache.begin(flight_key(), {});
  ASSERT_EQ(first.outcome, Outcome::lead);
  std::vector<std::thread> threads;
  std::atomic<int> begun = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const Fetched got = cache.begin(flight_key(), [&](Fetched mail) {
          if (mail.outcome == Outcome::lead) ++loads;
          right += mail.value && *mail.value.as<int>() == 7 ? 1 : 0;
        });
        EXPECT_EQ(got.outcome, Outcome::wait);
        ++begun;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.stats().loading, 1U);
  first.lead.finish(flight_value(7), {.cost_s = 2});
  EXPECT_EQ(loads, 0);
  EXPECT_EQ(right, kThreads * kEach);
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.total.loads, 1U);
  EXPECT_EQ(stats.total.coalesced, 1'000U);
  EXPECT_DOUBLE_EQ(stats.total.cost_saved_s, 2'000);
  EXPECT_EQ(stats.loading, 0U);
}

TEST(CacheFlights, BlockedThreadsShareOneLoad) {
  Cache cache({.capacity_bytes = 100});
  std::atomic<int> loads = 0, loaded = 0, shared = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      const Fetched got =
          cache.get_or_load(flight_key(), [&](const std::stop_token&) -> Result<Value> {
            ++loads;
            // Until the others wait, or found it: they cannot have found it before this returns.
            while (cache.stats().total.misses < 16) std::this_thread::yield();
            return flight_value(3);
          });
      EXPECT_EQ(*got.value.as<int>(), 3);
      ++(got.outcome == Outcome::loaded ? loaded : shared);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(loaded, 1);
  EXPECT_EQ(shared, 15);
}

TEST(CacheFlights, ACancelledLeaderHandsOverAndNobodyFails) {
  Cache cache({.capacity_bytes = 100});
  std::stop_source stop;
  std::atomic<int> loads = 0;
  std::vector<std::thread> threads;
  std::atomic<int> cancelled = 0, values = 0;
  std::latch leading(1);
  threads.emplace_back([&] {
    const Fetched got = cache.get_or_load(flight_key(),
                                          [&](const std::stop_token& token) -> Result<Value> {
                                            ++loads;
                                            leading.count_down();
                                            while (!token.stop_requested())
                                              std::this_thread::yield();
                                            return Error{ErrorCode::io, "stopped"};
                                          },
                                          {.stop = stop.get_token()});
    cancelled += got.outcome == Outcome::cancelled ? 1 : 0;
  });
  leading.wait();
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const Fetched got =
          cache.get_or_load(flight_key(), [&](const std::stop_token&) -> Result<Value> {
            ++loads;
            return flight_value(5);
          });
      values += got.value && *got.value.as<int>() == 5 ? 1 : 0;
    });
  }
  while (cache.stats().total.misses < 9) std::this_thread::yield();
  stop.request_stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(values, 8);
  EXPECT_EQ(loads, 2);  // the cancelled one and one more
  EXPECT_EQ(cache.stats().total.load_failures, 0U);
}

TEST(CacheFlights, AFollowerLeavesAtItsOwnDeadline) {
  Cache cache({.capacity_bytes = 100});
  Fetched lead = cache.begin(flight_key(), {});
  const Loader never = [](const std::stop_token&) -> Result<Value> {
    ADD_FAILURE() << "a follower loaded";
    return Error{};
  };
  const Fetched late =
      cache.get_or_load(flight_key(), never, {.deadline = std::chrono::steady_clock::now()});
  EXPECT_EQ(late.outcome, Outcome::timed_out);
  std::stop_source stop;
  stop.request_stop();
  const Fetched stopped = cache.get_or_load(flight_key(), never, {.stop = stop.get_token()});
  EXPECT_EQ(stopped.outcome, Outcome::cancelled);
  lead.lead.finish(flight_value(1));
  EXPECT_EQ(cache.get_or_load(flight_key(), never).outcome, Outcome::hit);
  EXPECT_EQ(cache.stats().total.coalesced, 0U);
}

TEST(CacheFlights, AWaiterThatCancelledIsNotCalled) {
  Cache cache({.capacity_bytes = 100});
  Fetched lead = cache.begin(flight_key(), {});
  int called = 0;
  Waiting first, second;
  (void)cache.begin(
      flight_key(), [&](Fetched) { called += 1; }, &first);
  (void)cache.begin(
      flight_key(), [&](Fetched) { called += 10; }, &second);
  EXPECT_TRUE(first.cancel());
  EXPECT_FALSE(first.cancel());
  lead.lead.finish(flight_value(1));
  EXPECT_EQ(called, 10);
  EXPECT_FALSE(second.cancel());
}

TEST(CacheFlights, AFailureReachesAllAndIsRememberedByItsClass) {
  TurnedClock clock;
  Cache cache({.capacity_bytes = 1'000'000, .negative_ttl_s = 10, .now_ns = clock.function()});
  int loads = 0;
  const auto failing = [&](ErrorCode code) {
    return [&loads, code](const std::stop_token&) -> Result<Value> {
      ++loads;
      return Error{code, "no"};
    };
  };
  EXPECT_EQ(cache.get_or_load(flight_key(1), failing(ErrorCode::not_found)).outcome,
            Outcome::failed);
  const Fetched again = cache.get_or_load(flight_key(1), failing(ErrorCode::not_found));
  EXPECT_EQ(again.outcome, Outcome::negative);
  EXPECT_EQ(again.error.message, "no");
  EXPECT_FALSE(cache.get(flight_key(1)));
  EXPECT_FALSE(cache.contains(flight_key(1)));
  EXPECT_EQ(loads, 1);
  clock.pass(12);
  EXPECT_EQ(cache.get_or_load(flight_key(1), failing(ErrorCode::not_found)).outcome,
            Outcome::failed);
  // Out of memory is no property of the key.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cache.get_or_load(flight_key(2), failing(ErrorCode::no_space)).outcome,
              Outcome::failed);
  }
  EXPECT_EQ(loads, 4);
}

TEST(CacheFlights, StaleIsServedWhileOneRefreshRuns) {
  TurnedClock clock;
  Cache cache({.capacity_bytes = 100,
               .ttl_s = 100,
               .ttl_jitter = 0,
               .soft_ttl_s = 10,
               .now_ns = clock.function()});
  cache.put(flight_key(), flight_value(1));
  clock.pass(11);
  Fetched first = cache.begin(flight_key(), {});
  EXPECT_EQ(first.outcome, Outcome::stale);
  EXPECT_TRUE(first.lead);
  const Fetched second = cache.begin(flight_key(), {});
  EXPECT_EQ(second.outcome, Outcome::stale);
  EXPECT_FALSE(second.lead);
  EXPECT_EQ(*second.value.as<int>(), 1);
  first.lead.finish(flight_value(2));
  EXPECT_EQ(*cache.get(flight_key()).as<int>(), 2);
}

TEST(CacheFlights, ABlockingCallRefreshesOnAThreadOfTheCache) {
  TurnedClock clock;
  Cache cache({.capacity_bytes = 100, .soft_ttl_s = 10, .now_ns = clock.function()});
  cache.put(flight_key(), flight_value(1));
  clock.pass(12);
  std::atomic<bool> elsewhere = false;
  const std::thread::id here = std::this_thread::get_id();
  const Fetched got = cache.get_or_load(flight_key(), [&](const std::stop_token&) -> Result<Value> {
    elsewhere = std::this_thread::get_id() != here;
    return flight_value(2);
  });
  EXPECT_EQ(got.outcome, Outcome::stale);
  EXPECT_EQ(*got.value.as<int>(), 1);
  while (cache.stats().total.loads == 0) std::this_thread::yield();
  EXPECT_TRUE(elsewhere);
  EXPECT_EQ(*cache.get(flight_key()).as<int>(), 2);
}

TEST(CacheFlights, AnExpiredEntryAnswersForAFailedLoad) {
  TurnedClock clock;
  Cache cache(
      {.capacity_bytes = 100, .ttl_s = 10, .stale_on_error_s = 60, .now_ns = clock.function()});
  cache.put(flight_key(), flight_value(1));
  clock.pass(20);
  EXPECT_FALSE(cache.get(flight_key()));
  const Loader broken = [](const std::stop_token&) -> Result<Value> {
    return Error{ErrorCode::io, "down"};
  };
  const Fetched got = cache.get_or_load(flight_key(), broken);
  EXPECT_EQ(got.outcome, Outcome::stale);
  EXPECT_EQ(*got.value.as<int>(), 1);
  EXPECT_EQ(got.error.message, "down");
  clock.pass(60);
  EXPECT_EQ(cache.get_or_load(flight_key(), broken).outcome, Outcome::failed);
}

TEST(CacheFlights, ALoaderThatThrowsHandsOver) {
  Cache cache({.capacity_bytes = 100});
  const Loader throwing = [](const std::stop_token&) -> Result<Value> { throw 1; };
  EXPECT_THROW((void)cache.get_or_load(flight_key(), throwing), int);
  EXPECT_EQ(cache.stats().loading, 0U);
  EXPECT_EQ(
      cache
          .get_or_load(flight_key(),
                       [](const std::stop_token&) -> Result<Value> { return flight_value(1); })
          .outcome,
      Outcome::loaded);
}

// Many threads, few keys, loads that fail, throw or are cancelled: every call ends, every value is
// right, no flight is left.
TEST(CacheFlights, RandomCancellationsLeaveNothingBehind) {
  Cache cache({.capacity_bytes = 40, .ttl_s = 0.0002, .soft_ttl_s = 0.0001});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 1'500; ++i) {
        const int number = static_cast<int>(random() % 8);
        const std::uint64_t fate = random() % 8;
        std::stop_source stop;
        const Fetched got = cache.get_or_load(
            flight_key(number),
            [stop, fate, number](const std::stop_token&) mutable -> Result<Value> {
              if (fate == 0) stop.request_stop();
              if (fate <= 1) return Error{ErrorCode::io, "no"};
              return flight_value(number);
            },
            {.deadline =
                 std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 200),
             .stop = stop.get_token()});
        if (got.value && *got.value.as<int>() != number) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  while (cache.stats().loading > 0) std::this_thread::yield();  // refreshes
}

}  // namespace
}  // namespace genscope::optimize
