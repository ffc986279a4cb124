#include "optimize/cache/wheel.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace genscope::optimize::cache {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(CacheWheel, NamesEachNodeAfterItsTimeAndWithinAFewSeconds) {
  std::mt19937_64 random(3);
  Wheel wheel;
  std::map<Node, std::int64_t> due;
  std::int64_t now = 1'000 * kSecond;
  Node next = 0;
  for (int round = 0; round < 4'000; ++round) {
    now += static_cast<std::int64_t>(random() % (3 * kSecond));
    if (round % 3 != 0 || round > 3'000) {
      std::vector<Node> expired;
      wheel.advance(now, 1'000'000, expired);
      for (const Node node : expired) {
        ASSERT_EQ(due.count(node), 1U);
        EXPECT_LE(due[node], now);
        due.erase(node);
      }
      // One tick of level 0, and the round before without a look.
      for (const auto& [node, when] : due) ASSERT_GT(when + 10 * kSecond, now) << node;
    }
    if (round > 3'000) continue;
    const auto in =
        static_cast<std::int64_t>(random() % (std::uint64_t{1} << (20 + random() % 24)));
    wheel.schedule(next, now + in, now);
    due[next++] = now + in;
    if (random() % 4 == 0 && !due.empty()) {
      wheel.cancel(due.begin()->first);
      due.erase(due.begin());
    }
  }
  std::vector<Node> expired;
  wheel.advance(now + 100LL * 86'400 * kSecond, 1'000'000, expired);
  EXPECT_EQ(expired.size(), due.size());
}

TEST(CacheWheel, DoesNoMoreThanItMayAndGoesOn) {
  Wheel wheel;
  for (Node node = 0; node < 1'000; ++node) wheel.schedule(node, 5 * kSecond, kSecond);
  std::size_t all = 0;
  for (int call = 0; call < 10; ++call) {
    std::vector<Node> expired;
    wheel.advance(20 * kSecond, 100, expired);
    EXPECT_LE(expired.size(), 100U);
    all += expired.size();
  }
  EXPECT_EQ(all, 1'000U);
  EXPECT_TRUE(wheel.empty());
}

}  // namespace
}  // namespace genscope::optimize::cache
