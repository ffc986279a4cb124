#include "bench/history/series.h"

#include <gtest/gtest.h>

#include "testing/random.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kDay = 24LL * 3600 * 1'000'000;

// Noise of about 1 %, the same at each call.
std::vector<SeriesPoint> synthetic_history(const std::vector<double>& levels, std::size_t each) {
  std::vector<SeriesPoint> points;
  std::uint64_t state = 7;
  for (const double level : levels) {
    for (std::size_t i = 0; i < each; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double noise = static_cast<double>(state >> 40) / double(1 << 24) - 0.5;
      SeriesPoint point;
      point.run = "r" + std::to_string(points.size());
      point.started_us = static_cast<std::int64_t>(points.size()) * kDay;
      point.value = level * (1 + 0.02 * noise);
      points.push_back(point);
    }
  }
  return points;
}

TEST(HistorySeries, FlatHasNoChangeAndNoTrend) {
  const HistoryAnalysis found = analyze_history(synthetic_history({1.0}, 40), {});
  EXPECT_TRUE(found.changes.empty());
  ASSERT_TRUE(found.trend.has_value());
  EXPECT_FALSE(found.trend->real);
  EXPECT_EQ(found.newest->verdict, "fits");
}

TEST(HistorySeries, AStepIsFoundConfirmedAndCalledWorse) {
  const HistoryAnalysis found = analyze_history(synthetic_history({1.0, 1.1}, 15), {});
  ASSERT_EQ(found.changes.size(), 1u);
  EXPECT_EQ(found.changes[0].index, 15u);
  EXPECT_TRUE(found.changes[0].confirmed);
  EXPECT_TRUE(found.changes[0].worse);
  EXPECT_NEAR(found.changes[0].after / found.changes[0].before, 1.1, 0.01);
  EXPECT_EQ(found.level_begin, 15u);
  const HistoryAnalysis up = analyze_history(
      synthetic_history({1.0, 1.1}, 15), {.direction = Direction::higher_is_better, .limit = {}});
  EXPECT_FALSE(up.changes.at(0).worse);
}

TEST(HistorySeries, ASpikeIsNoChange) {
  std::vector<SeriesPoint> points = synthetic_history({1.0}, 30);
  points[12].value = 1.6;
  const HistoryAnalysis found = analyze_history(points, {});
  EXPECT_TRUE(found.changes.empty());
  EXPECT_TRUE(found.points[12].spike);
}

TEST(HistorySeries, AcceptingResetsTheLevel) {
  std::vector<SeriesPoint> points = synthetic_history({1.0, 1.1}, 15);
  points[15].accepted = true;
  const HistoryAnalysis found = analyze_history(points, {});
  EXPECT_TRUE(found.changes.at(0).accepted);
  EXPECT_EQ(found.level_begin, 15u);
}

TEST(HistorySeries, TheNewestIsJudgedAgainstItsLevel) {
  std::vector<SeriesPoint> points = synthetic_history({1.0}, 20);
  points.back().value = 1.2;
  EXPECT_EQ(analyze_history(points, {}).newest->verdict, "worse");
  points.back().value = 0.8;
  EXPECT_EQ(analyze_history(points, {}).newest->verdict, "better");
}

TEST(HistorySeries, CreepIsATrendWithADateOfBreach) {
  std::vector<SeriesPoint> points = synthetic_history({1.0}, 28);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].value *= 1 + 0.002 * static_cast<double>(i);  // 1.4 % a week
  }
  HistoryOptions options;
  options.limit = 1.1;
  options.magnitude = 0.2;
  const HistoryAnalysis found = analyze_history(points, options);
  ASSERT_TRUE(found.trend.has_value());
  EXPECT_TRUE(found.trend->real);
  EXPECT_NEAR(found.trend->per_week, 0.0137, 0.003);
  ASSERT_TRUE(found.breach_us.has_value());
  EXPECT_NEAR(static_cast<double>(*found.breach_us) / double(kDay), 50, 8);
}

TEST(HistorySeries, ShortSpansGiveNoTrendByTheWeek) {
  std::vector<SeriesPoint> points = synthetic_history({1.0}, 20);
  for (SeriesPoint& point : points) point.started_us /= 1000;
  const HistoryAnalysis found = analyze_history(points, {});
  EXPECT_FALSE(found.trend.has_value());
  EXPECT_FALSE(found.notes.empty());
}

TEST(HistorySeries, EmptyAndOneAreNoTrouble) {
  EXPECT_TRUE(analyze_history({}, {}).points.empty());
  EXPECT_FALSE(analyze_history(synthetic_history({1.0}, 1), {}).newest.has_value());
}

}  // namespace
}  // namespace genscope::bench
