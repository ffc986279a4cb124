#include "analyze/statistics/prediction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace genscope::stats {
namespace {

TEST(IntervalOfSum, OfSamplesThatAreAllAlikeHasNoWidth) {
  const std::vector<double> steps(8, 0.5);
  const auto interval = interval_of_sum(steps, 20, 0.9);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 10, 1e-9);
  EXPECT_NEAR(interval->high, 10, 1e-9);
}

TEST(IntervalOfSum, OfNothingMoreIsNothing) {
  const std::vector<double> steps = {1, 2, 3, 4};
  const auto interval = interval_of_sum(steps, 0, 0.9);
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 0);
  EXPECT_DOUBLE_EQ(interval->high, 0);
}

TEST(IntervalOfSum, NeedsFourFiniteSamplesAndAConfidence) {
  const std::vector<double> three = {1, 2, 3};
  const std::vector<double> odd = {1, 2, 3, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> four = {1, 2, 3, 4};
  EXPECT_FALSE(interval_of_sum(three, 5, 0.9));
  EXPECT_FALSE(interval_of_sum(odd, 5, 0.9));
  EXPECT_FALSE(interval_of_sum(four, 5, 1));
  EXPECT_TRUE(interval_of_sum(four, 5, 0.9));
}

// Draws samples and what follows them, again and again: the interval holds as often as it says.
TEST(IntervalOfSum, HoldsAsOftenAsItSays) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> step(1.0, 0.1);
  constexpr int kTrials = 1000;
  for (const std::size_t seen : {4u, 8u, 32u}) {
    for (const std::uint64_t more : {1u, 20u, 200u}) {
      int held = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<double> steps(seen);
        for (double& s : steps) s = step(random);
        double sum = 0;
        for (std::uint64_t i = 0; i < more; ++i) sum += step(random);
        const auto interval = interval_of_sum(steps, more, 0.9);
        ASSERT_TRUE(interval);
        held += interval->low <= sum && sum <= interval->high;
      }
      // 4 standard errors of 1,000 trials are 3.8 %.
      EXPECT_NEAR(static_cast<double>(held) / kTrials, 0.9, 0.038) << seen << " then " << more;
    }
  }
}

}  // namespace
}  // namespace genscope::stats
