#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "genscope/optimize/cache.h"
#include "optimize/cache/value_block.h"

namespace genscope::optimize {
namespace {

Key number_key(std::uint64_t number, const char* kind = "number") {
  return KeyBuilder(kind).add(number).build();
}
Value number_value(std::uint64_t number, std::size_t bytes = 1) { return Value::of(number, bytes); }

// A clock that tests turn.
struct HandClock {
  std::shared_ptr<std::atomic<std::int64_t>> ns =
      std::make_shared<std::atomic<std::int64_t>>(1'000'000'000'000);
  void pass(double seconds) { *ns += static_cast<std::int64_t>(seconds * 1e9); }
  std::function<std::int64_t()> function() const {
    return [ns = ns] { return ns->load(); };
  }
};

TEST(Cache, GivesBackWhatWasPut) {
  Cache cache({.capacity_bytes = 100});
  EXPECT_FALSE(cache.get(number_key(1)));
  EXPECT_TRUE(cache.put(number_key(1), number_value(10)));
  ASSERT_TRUE(cache.get(number_key(1)));
  EXPECT_EQ(*cache.get(number_key(1)).as<std::uint64_t>(), 10U);
  EXPECT_TRUE(cache.put(number_key(1), number_value(11, 2)));
  EXPECT_EQ(*cache.get(number_key(1)).as<std::uint64_t>(), 11U);
  EXPECT_EQ(cache.size(), 1U);
  EXPECT_TRUE(cache.contains(number_key(1)));
  EXPECT_TRUE(cache.erase(number_key(1)));
  EXPECT_FALSE(cache.erase(number_key(1)));
  EXPECT_FALSE(cache.contains(number_key(1)));
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.total.hits, 3U);
  EXPECT_EQ(stats.total.misses, 1U);
  EXPECT_EQ(stats.total.bytes, 0U);
}

// Against a map, with every policy: what is found is right, and bytes never exceed the capacity.
TEST(Cache, HoldsTheRightValuesWithinItsBytes) {
  for (const CachePolicy policy :
       {CachePolicy::automatic, CachePolicy::adaptive, CachePolicy::s3, CachePolicy::gdsf}) {
    std::mt19937_64 random(7);
    Cache cache({.capacity_bytes = 2'000, .policy = policy, .shards = 4});
    std::uint64_t found = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t number = std::min(random() % 300, random() % 300);
      const Key key = number_key(number);
      if (random() % 50 == 0) {
        cache.erase(key);
      } else if (const Value value = cache.get(key)) {
        ASSERT_EQ(*value.as<std::uint64_t>(), number);
        ++found;
      } else {
        cache.put(key, number_value(number, 1 + number % 150),
                  {.cost_s = 0.001 * double(1 + number % 7)});
      }
      if (i % 100 == 0) {
        const CacheStats stats = cache.stats();
        ASSERT_LE(stats.total.bytes, 2'000U);
        ASSERT_EQ(stats.total.entries, cache.size());
      }
    }
    const CacheStats stats = cache.stats();
    EXPECT_GT(found, 2'000U) << stats.policy;
    EXPECT_EQ(stats.total.hits, found);
    EXPECT_GT(stats.total.evicted, 100U);
    if (policy == CachePolicy::automatic) {
      EXPECT_EQ(stats.policy, "gdsf");  // weights differ
    }
    cache.clear();
    EXPECT_EQ(cache.size(), 0U);
    EXPECT_EQ(cache.stats().total.bytes, 0U);
  }
}

TEST(Cache, RefusesAnEntryAboveATenthAndCountsIt) {
  Cache cache({.capacity_bytes = 1'000});
  EXPECT_FALSE(cache.put(number_key(1, "big"), number_value(1, 101)));
  EXPECT_TRUE(cache.put(number_key(2, "big"), number_value(2, 100)));
  EXPECT_EQ(cache.stats().total.rejected, 1U);
  EXPECT_EQ(cache.stats().kinds.at(0).kind, "big");
}

TEST(Cache, AReplacementThatIsRefusedTakesTheOldEntryWithIt) {
  Cache cache({.capacity_bytes = 1'000});
  cache.put(number_key(1), number_value(1, 10));
  EXPECT_FALSE(cache.put(number_key(1), number_value(2, 500)));
  EXPECT_FALSE(cache.get(number_key(1)));
}

TEST(Cache, ResizesWhileItLives) {
  Cache cache({.capacity_bytes = 1'000});
  for (std::uint64_t i = 0; i < 1'000; ++i) cache.put(number_key(i), number_value(i));
  EXPECT_EQ(cache.size(), 1'000U);
  cache.resize(100);
  EXPECT_EQ(cache.size(), 100U);
  cache.resize(500);
  for (std::uint64_t i = 0; i < 1'000; ++i) cache.put(number_key(i), number_value(i));
  EXPECT_EQ(cache.size(), 500U);
}

TEST(Cache, DestroysEachValueOnceAndCountsWhatIsHeldOutside) {
  static std::atomic<int> alive;
  alive = 0;
  const auto make = [] {
    ++alive;
    return Value::adopt(nullptr, 10, [](void*, void*) { --alive; });
  };
  {
    Cache cache({.capacity_bytes = 100});
    cache.put(number_key(1), make());
    Value held = cache.get(number_key(1));
    cache.put(number_key(2), make());
    cache.clear();
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(cache.stats().pinned_bytes, 10U);
    held = Value();
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(cache.stats().pinned_bytes, 0U);
    cache.put(number_key(3), make());
  }
  EXPECT_EQ(alive, 0);
}

TEST(Cache, EntriesExpireSpreadAroundTheirTtl) {
  HandClock clock;
  Cache cache({.capacity_bytes = 10'000, .ttl_s = 100, .now_ns = clock.function()});
  for (std::uint64_t i = 0; i < 1'000; ++i) cache.put(number_key(i), number_value(i));
  const auto left = [&] {
    std::size_t count = 0;
    for (std::uint64_t i = 0; i < 1'000; ++i) count += cache.contains(number_key(i)) ? 1 : 0;
    return count;
  };
  clock.pass(89.9);
  EXPECT_EQ(left(), 1'000U);
  clock.pass(10.1);
  EXPECT_GT(left(), 400U);
  EXPECT_LT(left(), 600U);
  clock.pass(10.1);
  EXPECT_EQ(left(), 0U);
  clock.pass(5);
  // The wheel frees them with the writes that follow.
  for (std::uint64_t i = 2'000; i < 2'010; ++i)
    cache.put(number_key(i), number_value(i), {.ttl_s = 0});
  EXPECT_EQ(cache.size(), 10U);
  EXPECT_EQ(cache.stats().total.expired, 1'000U);
  clock.pass(1e6);
  EXPECT_TRUE(cache.contains(number_key(2'001)));
}

TEST(Cache, StatisticsAreByKindWithTheCostSaved) {
  Cache cache({.capacity_bytes = 1'000});
  cache.put(number_key(1, "embedding"), number_value(1, 7), {.cost_s = 0.5});
  cache.put(number_key(1, "picture"), number_value(2, 9), {.cost_s = 6});
  for (int i = 0; i < 4; ++i) cache.get(number_key(1, "embedding"));
  cache.get(number_key(1, "picture"));
  cache.get(number_key(2, "picture"));
  const CacheStats stats = cache.stats();
  ASSERT_EQ(stats.kinds.size(), 2U);
  EXPECT_EQ(stats.kinds[0].kind, "embedding");
  EXPECT_EQ(stats.kinds[0].hits, 4U);
  EXPECT_DOUBLE_EQ(stats.kinds[0].cost_saved_s, 2.0);
  EXPECT_EQ(stats.kinds[1].hits, 1U);
  EXPECT_EQ(stats.kinds[1].misses, 1U);
  EXPECT_DOUBLE_EQ(stats.total.cost_saved_s, 8.0);
  EXPECT_EQ(stats.total.bytes, 16U);
  EXPECT_TRUE(std::isnan(stats.total.load_p50_s));
}

TEST(Cache, ThreadsThatGetPutEraseAndResizeFindRightValues) {
  Cache cache({.capacity_bytes = 400, .ttl_s = 0.0005});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 5'000; ++i) {
        const std::uint64_t number = std::min(random() % 1'000, random() % 1'000);
        const Key key = number_key(number);
        if (const Value value = cache.get(key)) {
          ASSERT_EQ(*value.as<std::uint64_t>(), number);
        } else {
          cache.put(key, number_value(number, 1 + number % 3),
                    {.ttl_s = number % 2 == 0 ? 0.0 : -1.0});
        }
        if (i % 64 == 0) cache.erase(number_key(random() % 1'000));
        if (i % 500 == 0) cache.resize(200 + random() % 400);
        if (i % 700 == 0) (void)cache.stats();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cache.resize(100);
  EXPECT_LE(cache.stats().total.bytes, 100U);
}

}  // namespace
}  // namespace genscope::optimize
