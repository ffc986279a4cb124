#include "probe/history.h"
#include "testing/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace genscope::probe {
namespace {

using testing::kSecond;
constexpr std::int64_t kTenth = kSecond / 10;

TEST(History, FitsInto56KiB) { EXPECT_LE(History::bytes(), 56u * 1024); }

TEST(History, GivesRecentSamplesAsTheyCame) {
  History history(kSecond);
  for (int i = 0; i < 20; ++i) history.add(i * kTenth, i);
  const auto points = history.read(15 * kTenth, 100);
  ASSERT_EQ(points.size(), 5u);
  EXPECT_EQ(points.front().min, 15);
  EXPECT_EQ(points.back().mean, 19);
  EXPECT_EQ(points.back().end_ns, 19 * kTenth);
}

TEST(History, KeepsEveryPeakForADay) {
  History history(kSecond);
  const int ticks = 24 * 3600 * 10;
  for (int i = 0; i < ticks; ++i)
    history.add(i * kTenth, i == 12345 ? 1000 : i == 777'777 ? -5 : 1);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto points = history.read(0, 64);
  EXPECT_LE(points.size(), 64u);
  for (const auto& point : points) {
    low = std::min(low, point.min);
    high = std::max(high, point.max);
  }
  EXPECT_EQ(low, -5);
  EXPECT_EQ(high, 1000);
  EXPECT_LE(points.front().begin_ns, kTenth);
  EXPECT_EQ(points.back().end_ns, (ticks - 1) * kTenth);
}

TEST(History, CoversAllTimeBetweenItsEndsOnce) {
  History history(kSecond);
  for (int i = 0; i < 50'000; ++i) history.add(i * kTenth, 3);
  for (const std::int64_t since : {std::int64_t{0}, 40'000 * kTenth, 49'500 * kTenth}) {
    const auto points = history.read(since, 1'000'000);
    for (std::size_t i = 1; i < points.size(); ++i) {
      EXPECT_EQ(points[i].begin_ns, points[i - 1].end_ns) << i << " since " << since;
      EXPECT_EQ(points[i].mean, 3);
    }
  }
}

TEST(History, WeighsByTimeAndNotByCount) {
  History history(10 * kSecond);
  history.add(0, 0);
  history.add(1 * kSecond, 10);  // for 1 s
  history.add(4 * kSecond, 50);  // for 3 s
  const auto points = history.read(0, 1);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_DOUBLE_EQ(points[0].mean, (10.0 + 150) / 4);
}

TEST(History, LetsNoSampleStandForAGap) {
  History history(kSecond);
  history.add(0, 1);
  history.add(kTenth, 1);
  history.add(100 * kSecond, 7);
  history.add(100 * kSecond + kTenth, 7);
  const auto points = history.read(0, 1);
  ASSERT_EQ(points.size(), 1u);
  EXPECT_DOUBLE_EQ(points[0].mean, 4);  // 0.1 s of each: the gap weighs nothing
}

TEST(History, IsEmptyBeforeTheFirstSample) { EXPECT_TRUE(History(kSecond).read(0, 10).empty()); }

}  // namespace
}  // namespace genscope::probe
