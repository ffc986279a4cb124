#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/history/change_points.h"
#include "analyze/statistics/statistics.h"
#include "testing/random.h"

namespace genscope::stats {
namespace {

using Series = std::vector<double>;
using Places = std::vector<std::size_t>;

// Sum of four uniform numbers less their mean, sigma about 0.58, times `size`.
double wobble(testing::Random& random, double size) {
  double sum = -2;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(random.below(1u << 20)) / (1u << 20);
  return sum * size;
}

Series steps(testing::Random& random, const std::vector<std::pair<std::size_t, double>>& levels,
             double noise = 0.02) {
  Series series;
  for (const auto& [count, level] : levels) {
    for (std::size_t i = 0; i < count; ++i) series.push_back(level * (1 + wobble(random, noise)));
  }
  return series;
}

Places places_of(const std::vector<LevelChange>& changes) {
  Places places;
  for (const LevelChange& change : changes) places.push_back(change.index);
  return places;
}

// The definition: the mean of all |a - b|.
double mean_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (const double x : a) {
    for (const double y : b) sum += std::fabs(x - y);
  }
  return sum / static_cast<double>(a.size() * b.size());
}

TEST(Energy, EqualsItsDefinition) {
  testing::Random random(1);
  for (int round = 0; round < 30; ++round) {
    Series series(2 + random.below(30));
    for (double& v : series) v = 1e6 + static_cast<double>(random.below(12)) / 4;
    const Series t = energy_statistics(series);
    ASSERT_EQ(t.size(), series.size());
    EXPECT_EQ(t[0], 0);
    for (std::size_t i = 1; i < series.size(); ++i) {
      const std::span<const double> x(series.data(), i), y(series.data() + i, series.size() - i);
      const auto n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
      const double expected =
          n * m / (n + m) * (2 * mean_distance(x, y) - mean_distance(x, x) - mean_distance(y, y));
      EXPECT_NEAR(t[i], expected, 1e-9);
    }
  }
}

double cost_of(std::span<const double> values) {
  Series copy(values.begin(), values.end());
  const double middle = *quantile(copy, 0.5);
  double sum = 0;
  for (const double v : copy) sum += std::fabs(v - middle);
  return sum;
}

// The best partition by trying every last segment, cost by cost.
double least_cost(std::span<const double> series, double gamma, std::size_t least) {
  std::vector<double> best(series.size() + 1, std::numeric_limits<double>::infinity());
  best[0] = -gamma;
  for (std::size_t end = 1; end <= series.size(); ++end) {
    for (std::size_t begin = 0; begin + least <= end; ++begin) {
      best[end] =
          std::min(best[end], best[begin] + gamma + cost_of(series.subspan(begin, end - begin)));
    }
  }
  return best.back();
}

TEST(Potts, IsTheCheapestPartition) {
  testing::Random random(2);
  for (int round = 0; round < 60; ++round) {
    Series series(1 + random.below(40));
    for (double& v : series) v = static_cast<double>(random.below(30)) / 4;
    const double gamma = static_cast<double>(random.below(40)) / 8;
    const std::size_t least = std::min<std::size_t>(1 + random.below(4), series.size());
    double cost = -gamma;
    std::size_t end = 0;
    for (const PottsSegment& s : potts(series, gamma, least)) {
      EXPECT_EQ(s.begin, end);
      EXPECT_GE(s.end - s.begin, least);
      cost += gamma + s.cost;
      end = s.end;
    }
    EXPECT_EQ(end, series.size());
    EXPECT_NEAR(cost, least_cost(series, gamma, least), 1e-9);
  }
}

TEST(ChangePoints, OfAStepAreFoundByAll) {
  testing::Random random(3);
  const Series series = steps(random, {{30, 2.0}, {30, 2.3}});
  EXPECT_EQ(e_divisive(series), Places{30});
  EXPECT_EQ(places_of(hunter(series)), Places{30});
  EXPECT_EQ(windowed_t_changes(series), Places{30});
  EXPECT_EQ(best_split(series)->index, 30u);
  const auto segments = potts(series);
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].end, 30u);
  const LevelChange change = hunter(series)[0];
  EXPECT_NEAR(change.after / change.before, 1.15, 0.02);
}

TEST(ChangePoints, MoveWithTheSeries) {
  testing::Random random(4);
  const Series series = steps(random, {{20, 1.0}, {25, 1.1}, {20, 1.0}});
  Series larger = series;
  for (double& v : larger) v *= 1024;  // exact
  EXPECT_EQ(places_of(hunter(series)), places_of(hunter(larger)));
  EXPECT_EQ(e_divisive(series), e_divisive(larger));
  EXPECT_EQ(potts(series).size(), potts(larger).size());
}

TEST(Hunter, SeesNoChangeInNoiseWithItsSpikesFiltered) {
  testing::Random random(5);
  int flagged = 0;
  for (int round = 0; round < 100; ++round) {
    Series series = steps(random, {{60, 1.0}});
    for (double& v : series) v *= random.one_in(20) ? 1.3 : 1;
    flagged += hunter(hampel_filter(series, 3, 4)).empty() ? 0 : 1;
  }
  EXPECT_LE(flagged, 5);
}

TEST(Hunter, FindsWhatItShouldAmongSpikes) {
  testing::Random random(6);
  int found = 0;
  for (int round = 0; round < 100; ++round) {
    Series series = steps(random, {{30, 1.0}, {30, 1.06}});
    for (double& v : series) v *= random.one_in(20) ? 1.3 : 1;
    for (const std::size_t place : places_of(hunter(hampel_filter(series, 3, 4)))) {
      if (place >= 28 && place <= 32) {
        ++found;
        break;
      }
    }
  }
  EXPECT_GE(found, 90);
}

TEST(Hunter, RefreshesBothNeighboursOfARemovedPoint) {
  testing::Random random(7);
  for (int round = 0; round < 40; ++round) {
    const Series series = steps(random, {{12, 1.0}, {6, 1.01}, {15, 1.0}, {20, 1.08}}, 0.01);
    const auto changes = hunter(series);
    const auto fresh = level_changes(series, places_of(changes));
    ASSERT_EQ(changes.size(), fresh.size());
    for (std::size_t i = 0; i < changes.size(); ++i) {
      EXPECT_EQ(changes[i].before, fresh[i].before);
      EXPECT_EQ(changes[i].after, fresh[i].after);
      EXPECT_EQ(changes[i].p_value, fresh[i].p_value);
      EXPECT_LT(changes[i].p_value, 0.001);
    }
  }
}

TEST(ChangePoints, OfConstantShortAndOddSeries) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const Series& series :
       {Series{}, Series{1}, Series{1, 2}, Series{1, nan, 2, 3}, Series{1, inf, 2}, Series(40, 5.0),
        Series(40, 0.0), Series{1e308, -1e308, 1e308}}) {
    EXPECT_TRUE(hunter(series).empty() || series.size() == 3);
    EXPECT_TRUE(windowed_t_changes(series).empty());
    e_divisive(series, {0.01, 19, 1});
    energy_statistics(series);
    best_split(series);
    EXPECT_LE(potts(series).size(), 1u);
  }
  EXPECT_TRUE(e_divisive(Series(40, 5.0)).empty());
  // A step between constants: Student has nothing to divide by, and it is there all the same.
  Series step(20, 5.0);
  step.resize(40, 6.0);
  EXPECT_EQ(places_of(hunter(step)), Places{20});
  EXPECT_EQ(potts(step).size(), 2u);
  EXPECT_TRUE(level_changes(step, Places{0}).empty());
  EXPECT_TRUE(level_changes(step, Places{40}).empty());
  EXPECT_TRUE(level_changes(step, Places{20, 20}).empty());
}

TEST(Bounds, RobustOnesIgnoreAnOutlier) {
  Series history{10, 10.1, 9.9, 10.05, 9.95, 10.02, 9.98, 10.1, 9.9, 30};
  const Bounds robust = *robust_bounds(history, 0.99), plain = *prediction_bounds(history, 0.99);
  EXPECT_LT(robust.high, 11);
  EXPECT_GT(plain.high, 20);
  EXPECT_FALSE(prediction_bounds(Series{1}, 0.99));
  EXPECT_FALSE(robust_bounds(Series{}, 0.99));
  EXPECT_FALSE(normal_bounds(1, -1, 0.9));
  EXPECT_FALSE(quartile_bounds(1, 1, std::nan("")));
  const Bounds constant = *robust_bounds(Series(9, 4.0), 0.99);
  EXPECT_EQ(constant.low, 4);
  EXPECT_EQ(constant.high, 4);
}

}  // namespace
}  // namespace genscope::stats
