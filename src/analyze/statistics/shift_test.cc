#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/statistics/differences.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/rank_sum.h"
#include "analyze/statistics/statistics.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope::stats {
namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// Multiples of 1/8, so that sums and differences are exact; few enough to bring ties.
std::vector<double> coarse(testing::Random& random, std::size_t n, std::uint64_t kinds) {
  std::vector<double> values(n);
  for (double& v : values) v = static_cast<double>(random.below(kinds)) / 8;
  return values;
}

TEST(NormalQuantile, InvertsTheDistribution) {
  for (double p = 1e-12; p < 0.6; p *= 1.7) {
    EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-12) << p;
  }
}

TEST(MannWhitney, NormalApproximationIsNearTheExactAtTheLimit) {
  testing::Random random(3);
  for (int round = 0; round < 5; ++round) {
    const auto x = sorted(coarse(random, 50, 400)), y = sorted(coarse(random, 50, 420));
    const RankSum ranks(x, y);
    ASSERT_TRUE(ranks.exact());
    EXPECT_NEAR(ranks.p_normal(), ranks.p_exact(), 0.01);
  }
  EXPECT_FALSE(RankSum(sorted(coarse(random, 50, 400)), sorted(coarse(random, 51, 400))).exact());
}

TEST(MannWhitney, IntervalRankIsContinuousAtTheLimit) {
  const IntervalRank exact = interval_rank(50, 50, 0.95), normal = interval_rank(50, 51, 0.95);
  EXPECT_GE(exact.confidence, 0.95);
  EXPECT_GE(normal.confidence, 0.95);
  EXPECT_NEAR(static_cast<double>(exact.k) / 2500, static_cast<double>(normal.k) / 2550, 0.003);
}

TEST(Differences, SelectAsTheSortedListDoes) {
  testing::Random random(4);
  for (int round = 0; round < 200; ++round) {
    const auto x = sorted(coarse(random, 1 + random.below(12), 1 + random.below(50)));
    const auto y = sorted(coarse(random, 1 + random.below(12), 1 + random.below(50)));
    std::vector<double> all;
    for (const double b : x) {
      for (const double a : y) all.push_back(a - b);
    }
    std::sort(all.begin(), all.end());
    const Differences differences(x, y);
    ASSERT_EQ(differences.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(differences.at(i + 1), all[i]);
  }
}

TEST(Shift, FollowsAMoveAndTurnsWithItsSides) {
  testing::Random random(5);
  for (int round = 0; round < 100; ++round) {
    const auto x = coarse(random, 2 + random.below(20), 200);
    auto y = coarse(random, 2 + random.below(20), 200);
    const Shift there = *shift(x, y), back = *shift(y, x);
    EXPECT_EQ(there.estimate, -back.estimate);
    EXPECT_EQ(there.low, -back.high);
    EXPECT_EQ(there.high, -back.low);
    EXPECT_NEAR(there.effect, -back.effect, 1e-15);
    EXPECT_NEAR(there.p_value, back.p_value, 1e-12);
    EXPECT_LE(there.low, there.estimate);
    EXPECT_LE(there.estimate, there.high);
    EXPECT_GE(there.p_value, 0);
    EXPECT_LE(there.p_value, 1);
    for (double& v : y) v += 16;
    const Shift moved = *shift(x, y);
    EXPECT_EQ(moved.estimate, there.estimate + 16);
    EXPECT_EQ(moved.low, there.low + 16);
    EXPECT_EQ(moved.high, there.high + 16);
    EXPECT_EQ(moved.confidence, there.confidence);
  }
}

TEST(Shift, OfASampleMovedByAConstantIsThatConstant) {
  testing::Random random(6);
  const auto x = coarse(random, 300, 100'000);
  auto y = x;
  for (double& v : y) v += 1000;
  const Shift s = *shift(x, y);
  EXPECT_EQ(s.estimate, 1000);
  EXPECT_LE(s.low, 1000);
  EXPECT_GE(s.high, 1000);
}

// 2000 repetitions: the share of intervals that hold the truth has a standard error of 0.005.
TEST(Shift, IntervalsHoldTheTruthAsOftenAsTheySay) {
  testing::Random random(7);
  int held = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    const auto x = coarse(random, 12, 1u << 20);
    auto y = coarse(random, 12, 1u << 20);
    const Shift s = *shift(x, y);
    held += s.low <= 0 && 0 <= s.high ? 1 : 0;
  }
  const double promised = interval_rank(12, 12, 0.95).confidence;
  EXPECT_NEAR(static_cast<double>(held) / kRounds, promised, 0.02);
}

TEST(Shift, OfFewOrEqualSamplesSaysWhatItReaches) {
  const std::vector<double> one{1}, two{2};
  const Shift s = *shift(one, two);
  EXPECT_EQ(s.estimate, 1);
  EXPECT_EQ(s.low, 1);
  EXPECT_EQ(s.high, 1);
  EXPECT_EQ(s.confidence, 0) << "one difference bounds nothing";
  EXPECT_EQ(s.p_value, 1);
  EXPECT_EQ(s.effect, 1);

  const Shift few = *shift(std::vector<double>{1, 2, 3}, std::vector<double>{4, 5, 6});
  EXPECT_NEAR(few.p_value, 0.1, 1e-12);
  EXPECT_NEAR(few.confidence, 0.9, 1e-12);

  for (const std::size_t n : {5u, 80u}) {  // exact and approximate
    const Shift equal = *shift(std::vector<double>(n, 3.0), std::vector<double>(n, 3.0));
    EXPECT_EQ(equal.estimate, 0);
    EXPECT_EQ(equal.low, 0);
    EXPECT_EQ(equal.high, 0);
    EXPECT_EQ(equal.p_value, 1);
    EXPECT_EQ(equal.effect, 0);
  }
}

TEST(Shift, RefusesWhatHasNoAnswer) {
  const std::vector<double> some{1, 2, 3};
  EXPECT_FALSE(shift({}, some));
  EXPECT_FALSE(shift(some, {}));
  EXPECT_FALSE(shift(some, some, 0));
  EXPECT_FALSE(shift(some, some, 1));
  EXPECT_FALSE(shift(some, some, std::nan("")));
  EXPECT_FALSE(shift(some, std::vector<double>{1, std::nan("")}));
  EXPECT_FALSE(shift(std::vector<double>{std::numeric_limits<double>::infinity()}, some));
}

TEST(Shift, SurvivesTheEndsOfTheRange) {
  using testing::kLargest;
  using testing::kTiniest;
  const Shift tiny = *shift(std::vector<double>{0, 0, 0}, std::vector<double>(3, kTiniest));
  EXPECT_EQ(tiny.estimate, kTiniest);
  const Shift huge = *shift(std::vector<double>(3, 0.0), std::vector<double>(3, kLargest));
  EXPECT_EQ(huge.estimate, kLargest);
  const Shift beyond = *shift(std::vector<double>(3, -kLargest), std::vector<double>(3, kLargest));
  EXPECT_TRUE(std::isinf(beyond.estimate));
  EXPECT_EQ(beyond.effect, 1);
}

}  // namespace
}  // namespace genscope::stats
