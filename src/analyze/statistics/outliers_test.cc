#include "analyze/statistics/outliers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/statistics/statistics.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope::stats {
namespace {

using Places = std::vector<std::size_t>;

TEST(ModifiedZ, WithoutMadJudgesBySpreadOfTheOthers) {
  EXPECT_EQ(modified_z_outliers(std::vector<double>{5, 5, 5, 5, 5, 5, 9}), Places{6});
  EXPECT_EQ(modified_z_outliers(std::vector<double>(9, 5.0)), Places{});
  // A clock of 1 ms: six of ten samples alike, the others one step away.
  EXPECT_EQ(modified_z_outliers(std::vector<double>{10, 11, 10, 10, 11, 10, 9, 10, 11, 10}),
            Places{});
  EXPECT_EQ(modified_z_outliers(std::vector<double>{10, 11, 10, 10, 11, 10, 9, 10, 60, 10, 10, 10}),
            Places{8});
}

TEST(ModifiedZ, FindsThePlacesItWasGiven) {
  testing::Random random(21);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> values(100);
    for (double& v : values) v = 100 + static_cast<double>(random.below(1000)) / 1000;
    const std::size_t a = random.below(50), b = 50 + random.below(50);
    values[a] = 200;
    values[b] = 20;
    EXPECT_EQ(modified_z_outliers(values), (Places{a, b}));
  }
}

TEST(ModifiedZ, OfNothingOneAndWhatIsNotFinite) {
  EXPECT_EQ(modified_z_outliers({}), Places{});
  EXPECT_EQ(modified_z_outliers(std::vector<double>{3}), Places{});
  EXPECT_EQ(modified_z_outliers(std::vector<double>{1, 1, 1, 1, std::nan("")}), Places{});
  using testing::kTiniest;
  std::vector<double> tiny{0, kTiniest, 2 * kTiniest, 0, kTiniest, 2 * kTiniest, 1};
  EXPECT_EQ(modified_z_outliers(tiny), Places{6});
  using testing::kLargest;
  EXPECT_EQ(modified_z_outliers(std::vector<double>{1, 2, 3, kLargest}), Places{3});
}

// The definition, read literally.
Places slow_hampel(const std::vector<double>& s, std::size_t half, double limit) {
  Places places;
  const double sigma = sigma_of_differences(s);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const std::size_t from = i > half ? i - half : 0, to = std::min(s.size(), i + half + 1);
    const std::vector<double> window(s.begin() + static_cast<std::ptrdiff_t>(from),
                                     s.begin() + static_cast<std::ptrdiff_t>(to));
    if (std::fabs(s[i] - *quantile(window, 0.5)) > limit * sigma) places.push_back(i);
  }
  return places;
}

TEST(Hampel, SlidesAsItsDefinitionSays) {
  testing::Random random(22);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> series(3 + random.below(50));
    for (double& v : series) v = static_cast<double>(random.below(random.one_in(6) ? 400 : 20));
    const std::size_t half = 1 + random.below(60);
    EXPECT_EQ(hampel_outliers(series, half, 2), slow_hampel(series, half, 2));
  }
}

TEST(Hampel, StepAndTrendAreNoOutliersASpikeIs) {
  std::vector<double> series;
  testing::Random random(23);
  for (int i = 0; i < 60; ++i) {
    series.push_back((i < 30 ? 10 : 20) + 0.01 * i + static_cast<double>(random.below(100)) / 100);
  }
  EXPECT_EQ(hampel_outliers(series, 3, 5), Places{});
  series[45] += 8;
  EXPECT_EQ(hampel_outliers(series, 3, 5), Places{45});
}

TEST(Hampel, SpikeInAConstantSeries) {
  std::vector<double> series(20, 1.0);
  EXPECT_EQ(hampel_outliers(series, 3), Places{});
  series[9] = 2;
  EXPECT_EQ(hampel_outliers(series, 3), Places{9});
}

TEST(Hampel, OfTooLittleFindsNothing) {
  EXPECT_EQ(hampel_outliers({}, 3), Places{});
  EXPECT_EQ(hampel_outliers(std::vector<double>{1, 100}, 3), Places{});
  EXPECT_EQ(hampel_outliers(std::vector<double>{1, 1, 100, 1, 1, 1, 1, 1}, 0), Places{});
  EXPECT_EQ(hampel_outliers(std::vector<double>{1, 1, 1, std::nan(""), 1, 1}, 2), Places{});
}

}  // namespace
}  // namespace genscope::stats
