#include <gtest/gtest.h>

#include <map>
#include <random>

#include "genscope/optimize/cache.h"

namespace genscope::optimize {
namespace {

constexpr CachePolicy kPolicies[] = {CachePolicy::automatic, CachePolicy::adaptive, CachePolicy::s3,
                                     CachePolicy::gdsf};

Key floor_key(const char* kind, std::uint64_t number) {
  return KeyBuilder(kind).add(number).build();
}
Value weighing(std::size_t bytes) { return Value::adopt(nullptr, bytes, nullptr); }

std::map<std::string, KindStats> by_kind(const Cache& cache) {
  std::map<std::string, KindStats> kinds;
  for (const KindStats& kind : cache.stats().kinds) kinds[kind.kind] = kind;
  return kinds;
}

TEST(CacheFloors, PicturesNeverPushEmbeddingsOut) {
  for (const CachePolicy policy : kPolicies) {
    Cache cache({.capacity_bytes = 10'000, .policy = policy, .floors = {{"embedding", 0.1}}});
    for (std::uint64_t i = 0; i < 50; ++i) {
      ASSERT_TRUE(cache.put(floor_key("embedding", i), weighing(20), {.cost_s = 0.01}));
    }
    std::mt19937_64 random(3);
    for (int i = 0; i < 20'000; ++i) {
      const Key key = floor_key("picture", random() % 3'000);
      if (!cache.get(key)) cache.put(key, weighing(1 + random() % 400), {.cost_s = 6});
    }
    const auto kinds = by_kind(cache);
    EXPECT_EQ(kinds.at("embedding").entries, 50U) << cache.stats().policy;
    EXPECT_EQ(kinds.at("embedding").evicted, 0U);
    EXPECT_EQ(kinds.at("embedding").floor_bytes, 1'000U);
    EXPECT_GT(kinds.at("picture").evicted, 1'000U);
    EXPECT_LE(cache.stats().total.bytes, 10'000U);
  }
}

TEST(CacheFloors, WhatAKindDoesNotUseOthersMay) {
  Cache cache({.capacity_bytes = 1'000, .floors = {{"embedding", 0.5}}});
  for (std::uint64_t i = 0; i < 100; ++i) cache.put(floor_key("picture", i), weighing(10));
  EXPECT_EQ(cache.stats().total.bytes, 1'000U);
  // And it gets it back.
  for (std::uint64_t i = 0; i < 50; ++i) cache.put(floor_key("embedding", i), weighing(10));
  const auto kinds = by_kind(cache);
  EXPECT_EQ(kinds.at("embedding").bytes, 500U);
  EXPECT_EQ(kinds.at("picture").bytes, 500U);
}

// Whatever comes: an eviction leaves its kind with more than the floor less one entry, and all
// entries stay within the capacity.
TEST(CacheFloors, HoldUnderRandomUse) {
  constexpr std::uint64_t kHeaviest = 60;
  constexpr const char* kKinds[] = {"a", "b", "c", "d"};
  for (const CachePolicy policy : kPolicies) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      std::mt19937_64 random(seed);
      std::uint64_t capacity = 2'000;
      Cache cache({.capacity_bytes = capacity,
                   .policy = policy,
                   .floors = {{"a", 0.1}, {"b", 0.35}, {"d", 0.55}}});
      auto before = by_kind(cache);
      for (int i = 0; i < 4'000; ++i) {
        const char* const kind = kKinds[(i / 400 + random() % 2) % 4];  // one kind floods
        const Key key = floor_key(kind, std::min(random() % 300, random() % 300));
        const std::uint64_t what = random() % 100;
        if (what == 0) {
          capacity = 1'000 + random() % 2'000;
          cache.resize(capacity);
        } else if (what < 8) {
          cache.erase(key);
        } else if (!cache.get(key) || what < 12) {
          cache.put(key, weighing(1 + random() % kHeaviest),
                    {.cost_s = 0.01 * static_cast<double>(1 + random() % 50)});
        }
        const auto now = by_kind(cache);
        ASSERT_LE(cache.stats().total.bytes, capacity);
        for (const auto& [name, stats] : now) {
          if (stats.evicted == before[name].evicted) continue;
          ASSERT_GT(stats.bytes + kHeaviest, stats.floor_bytes) << name << " at " << i;
        }
        before = now;
      }
      EXPECT_GT(before.at("c").evicted, 50U);
    }
  }
}

TEST(CacheFloors, AreRefusedByNameWhereTheyCannotHold) {
  const auto says = [](std::vector<KindFloor> floors) {
    CacheOptions options;
    options.floors = std::move(floors);
    const Status status = Cache::check(options);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(says({{"embedding", 0.4}, {"picture", 0.6}}), "");
  EXPECT_EQ(says({{"embedding", 0.4}, {"picture", 0.7}}),
            "floors: the shares add up to 1.1 of the capacity (embedding 0.4, picture 0.7); lower "
            "them to 1 or less");
  EXPECT_NE(says({{"embedding", 0}}).find("above 0 and at most 1"), std::string::npos);
  EXPECT_NE(says({{"embedding", 1.5}}).find("\"embedding\" is 1.5"), std::string::npos);
  EXPECT_NE(says({{"a", 0.1}, {"a", 0.1}}).find("twice"), std::string::npos);
  CacheOptions early;
  early.early_refresh = -1;
  EXPECT_FALSE(Cache::check(early).ok());
  EXPECT_DEATH(Cache({.floors = {{"a", 0.8}, {"b", 0.8}}}), "add up to 1.6");
}

}  // namespace
}  // namespace genscope::optimize
