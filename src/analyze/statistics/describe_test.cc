#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/statistics/statistics.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope::stats {
namespace {

using Method = QuantileMethod;

using testing::kInfinity;
using testing::kLargest;
using testing::kTiniest;

std::vector<double> random_values(testing::Random& random, std::size_t n) {
  std::vector<double> values(n);
  for (double& v : values) v = static_cast<double>(random.below(2000)) / 16 - 50;
  return values;
}

TEST(Quantile, NearestRankIsASampleAndCountsAsItSays) {
  const std::vector<double> hundred = [] {
    std::vector<double> v;
    for (int i = 100; i > 0; --i) v.push_back(i);
    return v;
  }();
  for (int percent = 1; percent <= 100; ++percent) {
    EXPECT_EQ(quantile(hundred, percent / 100.0, Method::nearest_rank), percent);
  }
  EXPECT_EQ(quantile(hundred, 0, Method::nearest_rank), 1);
}

TEST(Quantile, StaysWithinTheSamplesAndRisesWithP) {
  testing::Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values = random_values(random, 1 + random.below(40));
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    for (const Method method : {Method::nearest_rank, Method::linear, Method::median_unbiased}) {
      double last = sorted.front();
      for (int i = 0; i <= 32; ++i) {
        const double q = *quantile(values, i / 32.0, method);
        EXPECT_GE(q, last);
        EXPECT_LE(q, sorted.back());
        last = q;
      }
      EXPECT_EQ(quantile(values, 0, method), sorted.front());
      EXPECT_EQ(quantile(values, 1, method), sorted.back());
    }
    EXPECT_EQ(quantile(values, 0.5), describe(values).median);
  }
}

TEST(Quantile, RefusesWhatHasNoAnswer) {
  const std::vector<double> one{1};
  EXPECT_EQ(quantile({}, 0.5), std::nullopt);
  EXPECT_EQ(quantile(one, -0.01), std::nullopt);
  EXPECT_EQ(quantile(one, 1.01), std::nullopt);
  EXPECT_EQ(quantile(one, std::nan("")), std::nullopt);
  EXPECT_EQ(quantile(std::vector<double>{1, std::nan(""), 2}, 0.5), std::nullopt);
  EXPECT_EQ(quantile(std::vector<double>{1, kInfinity}, 0.5), std::nullopt);
}

TEST(Quantile, SurvivesTheEndsOfTheRange) {
  EXPECT_EQ(quantile(std::vector<double>{-kLargest, kLargest}, 0.5), 0);
  EXPECT_EQ(quantile(std::vector<double>{kLargest, kLargest}, 0.3), kLargest);
  EXPECT_EQ(quantile(std::vector<double>{0, kTiniest}, 1), kTiniest);
}

TEST(Describe, OfNothingOneAndEqualSamples) {
  const Description nothing = describe({});
  EXPECT_EQ(nothing.count, 0u);
  EXPECT_FALSE(nothing.min || nothing.mean || nothing.median || nothing.stddev || nothing.mad);

  const Description one = describe(std::vector<double>{7});
  EXPECT_EQ(one.mean, 7);
  EXPECT_EQ(one.trimmed_mean, 7);
  EXPECT_EQ(one.mad, 0);
  EXPECT_FALSE(one.stddev || one.cv) << "one sample has no spread to estimate";

  const Description equal = describe(std::vector<double>(1000, 0.1));
  EXPECT_EQ(equal.mean, 0.1);
  EXPECT_EQ(equal.stddev, 0);
  EXPECT_EQ(equal.iqr, 0);
}

TEST(Describe, OfHugeAndTinySamples) {
  const Description huge = describe(std::vector<double>{kLargest, kLargest, kLargest});
  EXPECT_EQ(huge.mean, kLargest);
  EXPECT_EQ(huge.stddev, 0);

  const Description apart = describe(std::vector<double>{-kLargest, kLargest});
  EXPECT_EQ(apart.mean, 0);
  EXPECT_FALSE(apart.stddev) << "it is beyond a double";
  EXPECT_FALSE(apart.cv);

  const Description tiny = describe(std::vector<double>{kTiniest, 3 * kTiniest});
  EXPECT_EQ(tiny.mean, 2 * kTiniest);
  EXPECT_EQ(tiny.mad, kTiniest);
  EXPECT_NEAR(*tiny.cv, std::sqrt(2.0) / 2, 0.5) << "within the granularity of subnormals";

  std::vector<double> mixed(20, 1e-300);
  mixed[3] = kLargest;
  EXPECT_EQ(describe(mixed).trimmed_mean, 1e-300) << "what is trimmed does not scale the rest";
}

TEST(Describe, CvOfMeanZeroIsAbsentAndNaNRefused) {
  EXPECT_FALSE(describe(std::vector<double>{-1, 1}).cv);
  const Description d = describe(std::vector<double>{1, std::nan(""), 3});
  EXPECT_EQ(d.count, 3u);
  EXPECT_FALSE(d.mean || d.median || d.min);
}

TEST(Describe, MovesWithItsSamples) {
  testing::Random random(2);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> values = random_values(random, 2 + random.below(60));
    std::vector<double> moved = values;
    for (double& v : moved) v = 4 * v + 1024;  // exact in a double
    const Description a = describe(values), b = describe(moved);
    EXPECT_EQ(*b.median, 4 * *a.median + 1024);
    EXPECT_EQ(*b.mad, 4 * *a.mad);
    EXPECT_NEAR(*b.mean, 4 * *a.mean + 1024, 1e-9);
    EXPECT_NEAR(*b.stddev, 4 * *a.stddev, 1e-9);
  }
}

}  // namespace
}  // namespace genscope::stats
