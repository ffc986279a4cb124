#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "analyze/statistics/slopes.h"
#include "analyze/statistics/statistics.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope::stats {
namespace {

std::vector<double> indices(std::size_t n) {
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

// Sum of four uniform numbers, near enough to normal; sigma about 0.58.
double noise(testing::Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>(random.below(1u << 20)) / (1u << 20);
  return sum - 2;
}

TEST(Trend, OfALineIsItsSlope) {
  for (const std::size_t n : {3u, 10u, 500u, 3000u, 30'000u}) {
    for (const double slope : {0.0, 0.1, 0.25, -3.0, 1e-9, 1e12}) {
      std::vector<double> x = indices(n), y(n);
      for (std::size_t i = 0; i < n; ++i) y[i] = slope * x[i] + 8;
      const Trend t = *trend(x, y);
      const double error = 1e-12 * std::fabs(slope) + 4e-15 * 8;
      EXPECT_NEAR(t.slope, slope, error) << n << " points";
      EXPECT_NEAR(t.intercept, 8, 1e-9 * std::max(1.0, std::fabs(slope))) << n << " points";
      EXPECT_LE(t.low, t.slope);
      EXPECT_LE(t.slope, t.high);
      EXPECT_EQ(t.tau, slope > 0 ? 1 : slope < 0 ? -1 : 0);
      if (slope == 0) {
        EXPECT_EQ(t.p_value, 1);
      } else if (n >= 10) {
        EXPECT_LT(t.p_value, 0.001);
      }
    }
  }
}

// The list of all slopes, sorted: what at() must find in less memory.
void expect_same_as_listed(const std::vector<Point>& points) {
  std::vector<double> all;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      if (points[i].x < points[j].x) {
        all.push_back((points[j].y - points[i].y) / (points[j].x - points[i].x));
      }
    }
  }
  ASSERT_GT(all.size(), Slopes::kListed) << "else this tests nothing";
  std::sort(all.begin(), all.end());
  const std::uint64_t n = all.size();
  const std::vector<std::uint64_t> places{
      0, 1, n / 100, n / 2 - n / 50, n / 2, n / 2 + 1, n / 2 + n / 50, n - n / 100, n - 1};
  const std::vector<double> found = Slopes(points, n).at(places);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double expected = all[places[i]];
    EXPECT_NEAR(found[i], expected, 1e-12 * std::fabs(expected)) << "place " << places[i];
  }
}

std::vector<Point> by_place(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  return points;
}

TEST(Slopes, OfManyPointsAreThoseOfTheFullList) {
  testing::Random random(11);
  std::vector<Point> smooth, coarse, shared_x, outliers, large, wide;
  for (int i = 0; i < 1500; ++i) {
    const double x = i;
    smooth.push_back({x, 0.01 * x + noise(random)});
    coarse.push_back({x, static_cast<double>(random.below(4))});  // a third of all slopes are 0
    shared_x.push_back({static_cast<double>(random.below(30)), noise(random)});
    outliers.push_back({x, random.one_in(5) ? 1e9 * noise(random) : noise(random)});
    large.push_back({1.7e9 + x / 16, 6.4e10 + 4096 * static_cast<double>(random.below(1000))});
    wide.push_back({x, std::exp(25 * noise(random))});
  }
  for (const auto& points : {smooth, coarse, shared_x, outliers, large, wide}) {
    expect_same_as_listed(by_place(points));
  }
}

TEST(Slopes, OfPointsThatShareAllButOnePlace) {
  std::vector<double> x(300'000, 1.0), y(300'000);
  x.back() = 2;
  for (std::size_t i = 0; i + 1 < y.size(); ++i) y[i] = static_cast<double>(i);
  y.back() = 1'000'000;
  const Trend t = *trend(x, y);  // slopes: 1,000,000 - i
  EXPECT_EQ(t.slope, 1'000'000 - 149'999.0);
}

TEST(Trend, OfManyPointsFindsASmallSlopeInNoise) {
  testing::Random random(12);
  constexpr std::size_t kPoints = 100'000;
  std::vector<double> x = indices(kPoints), y(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) y[i] = 1e-6 * x[i] + noise(random);
  const Trend t = *trend(x, y);
  // Standard error of the slope: sigma sqrt(12 / n^3), about 6.3e-8.
  EXPECT_NEAR(t.slope, 1e-6, 4e-7);
  EXPECT_LT(t.low, t.slope);
  EXPECT_GT(t.high, t.slope);
  EXPECT_NEAR(t.high - t.low, 2 * 1.96 * 6.3e-8, 1e-7);
  EXPECT_LT(t.p_value, 1e-6);
}

// Values that tempt a selection by counts into ties, overflow or ranges without end.
TEST(Trend, OfManyPointsIsFiniteWhateverTheirShape) {
  testing::Random random(15);
  constexpr std::size_t kPoints = 5000;
  const auto unit = [&] { return static_cast<double>(random.below(1u << 30) + 1) / (1u << 30); };
  std::vector<double> x = indices(kPoints);
  std::vector<double> logs(kPoints), step(kPoints), stairs(kPoints), huge(kPoints), tiny(kPoints),
      far(kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    logs[i] = std::exp(100 * unit() - 50);
    step[i] = i < kPoints / 2 ? 1 : 2;
    stairs[i] = 4096 * std::floor(x[i] / 100);
    huge[i] = 1e308 * unit();
    tiny[i] = 1e-308 * unit();
    far[i] = 1.7e18 + 1e8 * x[i];
  }
  for (const auto* const place : {&x, &logs, &far}) {
    for (const auto* const values : {&logs, &step, &stairs, &huge, &tiny, &x}) {
      if (place == &far && values == &huge) continue;  // the intercept is beyond a double
      const auto t = trend(*place, *values);
      ASSERT_TRUE(t);
      EXPECT_LE(t->low, t->slope);
      EXPECT_LE(t->slope, t->high);
      EXPECT_TRUE(t->tau == 0 || t->p_value > 0.001 || (t->tau > 0) == (t->slope >= 0));
    }
  }
}

TEST(Trend, IgnoresTheOrderOfThePoints) {
  testing::Random random(13);
  std::vector<double> x = indices(60), y(60);
  for (double& v : y) v = static_cast<double>(random.below(20));
  const Trend sorted = *trend(x, y);
  for (std::size_t i = x.size(); i > 1; --i) {
    const std::size_t j = random.below(i);
    std::swap(x[i - 1], x[j]);
    std::swap(y[i - 1], y[j]);
  }
  const Trend mixed = *trend(x, y);
  EXPECT_EQ(mixed.slope, sorted.slope);
  EXPECT_EQ(mixed.low, sorted.low);
  EXPECT_EQ(mixed.tau, sorted.tau);
  EXPECT_EQ(mixed.p_value, sorted.p_value);
}

TEST(Trend, TurnsWithItsValues) {
  testing::Random random(14);
  for (int round = 0; round < 50; ++round) {
    const std::size_t n = 3 + random.below(40);
    std::vector<double> x(n), y(n), minus(n);
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<double>(random.below(12));  // equal x too
      y[i] = static_cast<double>(random.below(12));
      minus[i] = -y[i];
    }
    x[0] = 100;
    const Trend up = *trend(x, y), down = *trend(x, minus);
    EXPECT_EQ(up.slope, -down.slope);
    EXPECT_EQ(up.tau, -down.tau);
    EXPECT_EQ(up.p_value, down.p_value);
    EXPECT_LE(up.low, up.slope);
    EXPECT_LE(up.slope, up.high);
    EXPECT_LE(std::fabs(up.tau), 1);
  }
}

TEST(Trend, StandsAThirdOfTheValuesBeingWrong) {
  std::vector<double> x = indices(90), y = x;
  for (std::size_t i = 0; i < y.size(); i += 4) y[i] = 1e6;
  EXPECT_NEAR(trend(x, y)->slope, 1, 0.2);
}

TEST(Trend, RefusesWhatHasNoAnswer) {
  const std::vector<double> x{0, 1, 2}, y{1, 2, 3};
  EXPECT_TRUE(trend(x, y));
  EXPECT_FALSE(trend({}, {}));
  EXPECT_FALSE(trend(std::vector<double>{1, 2}, std::vector<double>{1, 2}));
  EXPECT_FALSE(trend(x, std::vector<double>{1, 2})) << "sizes differ";
  EXPECT_FALSE(trend(std::vector<double>{5, 5, 5}, y)) << "no two places";
  EXPECT_FALSE(trend(x, y, 1));
  EXPECT_FALSE(trend(x, std::vector<double>{1, std::nan(""), 3}));
  using testing::kLargest;
  EXPECT_FALSE(trend(x, std::vector<double>{-kLargest, 0, kLargest}));
  using testing::kTiniest;
  EXPECT_FALSE(trend(std::vector<double>{0, kTiniest, 2 * kTiniest}, y)) << "infinite slopes";
}

TEST(Trend, OfEqualOrTinyValuesIsFlat) {
  const std::vector<double> x = indices(1000);
  const Trend flat = *trend(x, std::vector<double>(1000, 7.0));
  EXPECT_EQ(flat.slope, 0);
  EXPECT_EQ(flat.low, 0);
  EXPECT_EQ(flat.high, 0);
  EXPECT_EQ(flat.intercept, 7);
  EXPECT_EQ(flat.p_value, 1);
  using testing::kTiniest;
  const Trend tiny =
      *trend(indices(4), std::vector<double>{0, kTiniest, 2 * kTiniest, 3 * kTiniest});
  EXPECT_EQ(tiny.slope, kTiniest);
}

}  // namespace
}  // namespace genscope::stats
