#include "store/clock_map.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "testing/random.h"
#include "testing/units.h"

namespace genscope::store {
namespace {

using base::ClockSnapshot;
using testing::kSecond;

ClockSnapshot at(std::uint64_t ticks, std::int64_t monotonic, std::int64_t realtime = 0) {
  return {ticks, monotonic, realtime, 0, 0};
}

// To the nanosecond, give or take how the rate is rounded.
void expect_at(ClockMap& map, std::uint64_t ticks, std::int64_t ns) {
  EXPECT_LE(std::abs(map.to_ns(ticks) - ns), 2) << ticks;
}

TEST(ClockMap, WithoutSnapshotsTicksAreNanosecondsAtTheGivenRate) {
  ClockMap map({}, 2e9);
  EXPECT_EQ(map.to_ns(0), 0);
  EXPECT_EQ(map.to_ns(2000), 1000);
}

TEST(ClockMap, OneSnapshotIsAnAnchor) {
  ClockMap map({at(1000, 5 * kSecond)}, 1e9);
  EXPECT_EQ(map.to_ns(1000), 5 * kSecond);
  EXPECT_EQ(map.to_ns(1500), 5 * kSecond + 500);
  EXPECT_EQ(map.to_ns(500), 5 * kSecond - 500);
}

TEST(ClockMap, InterpolatesBetweenSnapshotsAndGoesOnBeyond) {
  // 3 ticks a nanosecond, then 2; the given rate is wrong and unused.
  ClockMap map({at(0, kSecond), at(3'000'000'000, 2 * kSecond), at(5'000'000'000, 3 * kSecond)}, 9);
  expect_at(map, 1'500'000'000, kSecond + kSecond / 2);
  expect_at(map, 4'000'000'000, 2 * kSecond + kSecond / 2);
  expect_at(map, 7'000'000'000, 4 * kSecond);
  expect_at(map, 1, kSecond);
}

TEST(ClockMap, OrderOfSnapshotsDoesNotMatter) {
  ClockMap map({at(5'000'000'000, 3 * kSecond), at(0, kSecond), at(3'000'000'000, 2 * kSecond)},
               1e9);
  EXPECT_EQ(map.to_ns(3'000'000'000), 2 * kSecond);
}

// Bug-prone: two readings a few ticks apart would give any rate at all.
TEST(ClockMap, CloseSnapshotsDoNotDecideTheRate) {
  ClockMap map({at(0, 0), at(10, 100), at(3'000'000'000, kSecond)}, 1e9);
  expect_at(map, 3'000'000'000, kSecond);
  expect_at(map, 300'000'000, kSecond / 10);
}

TEST(ClockMap, WallClockStepsDoNotChangeTimes) {
  const std::vector<ClockSnapshot> steady = {at(0, 0, 100 * kSecond),
                                             at(kSecond, kSecond, 101 * kSecond),
                                             at(2 * kSecond, 2 * kSecond, 102 * kSecond)};
  auto stepped = steady;
  stepped[1].realtime_ns -= 50 * kSecond;
  stepped[2].realtime_ns += 3600 * kSecond;
  ClockMap a(steady, 1e9), b(stepped, 1e9);
  for (std::uint64_t t = 0; t < 3 * kSecond; t += 77'777'777) EXPECT_EQ(a.to_ns(t), b.to_ns(t));
  EXPECT_EQ(a.unix_offset_ns(), 100 * kSecond);
  EXPECT_EQ(b.unix_offset_ns(), 3700 * kSecond);
}

TEST(ClockMap, NeverDecreasesWithTicks) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    testing::Random random(seed);
    std::vector<ClockSnapshot> snapshots;
    for (std::uint64_t n = random.below(20); n > 0; --n) {
      snapshots.push_back(
          at(random.below(10 * kSecond), static_cast<std::int64_t>(random.below(10 * kSecond))));
    }
    ClockMap map(snapshots, 1e9);
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (std::uint64_t t = 0; t < 12 * kSecond; t += 1 + random.below(kSecond / 10)) {
      const std::int64_t now = map.to_ns(t);
      ASSERT_GE(now, last) << "seed " << seed << " tick " << t;
      last = now;
    }
  }
}

// Reading another lane goes back in time: the remembered segment must not matter.
TEST(ClockMap, GivesTheSameInAnyOrderOfQuestions) {
  testing::Random random(4);
  std::vector<ClockSnapshot> snapshots;
  for (std::int64_t i = 0; i < 50; ++i) {
    snapshots.push_back(
        at(static_cast<std::uint64_t>(i) * 3'000'000 + random.below(1000), i * 1'000'000));
  }
  ClockMap map(snapshots, 3e9);
  std::vector<std::pair<std::uint64_t, std::int64_t>> forward;
  for (std::uint64_t t = 0; t < 160'000'000; t += 1'234'567) forward.emplace_back(t, map.to_ns(t));
  for (auto it = forward.rbegin(); it != forward.rend(); ++it)
    EXPECT_EQ(map.to_ns(it->first), it->second);
}

TEST(ClockMap, HostileInputGivesSomeNumber) {
  testing::Random random(9);
  for (int i = 0; i < 5000; ++i) {
    std::vector<ClockSnapshot> snapshots;
    for (std::uint64_t n = random.below(6); n > 0; --n) {
      snapshots.push_back({random.next(), static_cast<std::int64_t>(random.next()),
                           static_cast<std::int64_t>(random.next()),
                           static_cast<std::int64_t>(random.next()), random.next()});
    }
    ClockMap map(snapshots, static_cast<double>(random.next()) - 1e18);
    for (int k = 0; k < 20; ++k) (void)map.to_ns(random.next());
    (void)map.to_ns(0);
    (void)map.to_ns(~std::uint64_t{0});
  }
}

}  // namespace
}  // namespace genscope::store
