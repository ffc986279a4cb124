// Exact p-values against their definition: every way in which the labels, or the signs, could have
// fallen, counted one by one. Small samples of few values: ties, one run a side, no spread at all,
// negative values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "testing/random.h"

namespace genscope::stats {
namespace {

using Sample = std::vector<double>;
constexpr double kRounding = 1e-9;

Sample few_values(testing::Random& random, std::size_t n, std::uint64_t kinds, double from) {
  Sample out(n);
  for (double& value : out) value = from + static_cast<double>(random.below(kinds)) / 2;
  return out;
}

// Calls f with each choice of `n` of `all` as the first side.
void each_split(const Sample& all, std::size_t n,
                const std::function<void(const Sample&, const Sample&)>& f) {
  for (std::uint32_t bits = 0; bits < (1u << all.size()); ++bits) {
    Sample x, y;
    for (std::size_t i = 0; i < all.size(); ++i) ((bits >> i & 1) != 0 ? x : y).push_back(all[i]);
    if (x.size() == n) f(x, y);
  }
}

// Pairs in which `y` is the larger, ties counted half.
double count_larger(const Sample& x, const Sample& y) {
  double u = 0;
  for (const double a : x) {
    for (const double b : y) u += b > a ? 1 : b == a ? 0.5 : 0;
  }
  return u;
}

double widest_gap(const Sample& x, const Sample& y) {
  double widest = 0;
  for (const Sample* const side : {&x, &y}) {
    for (const double at : *side) {
      const auto below = [at](const Sample& s) {
        const auto n = std::count_if(s.begin(), s.end(), [at](double v) { return v <= at; });
        return static_cast<double>(n) / static_cast<double>(s.size());
      };
      widest = std::max(widest, std::fabs(below(x) - below(y)));
    }
  }
  return widest;
}

TEST(ExactTests, OfTwoSamplesCountEverySplit) {
  testing::Random random(3);
  for (int round = 0; round < 150; ++round) {
    const std::size_t n = 1 + random.below(4), m = 1 + random.below(4);
    const std::uint64_t kinds = 1 + random.below(5);
    const Sample x = few_values(random, n, kinds, -1), y = few_values(random, m, kinds, -1);
    const double u = count_larger(x, y), middle = static_cast<double>(n * m) / 2;
    const double gap = widest_gap(x, y);
    Sample all = x;
    all.insert(all.end(), y.begin(), y.end());
    double splits = 0, less = 0, greater = 0, central = 0, gaps = 0;
    each_split(all, n, [&](const Sample& a, const Sample& b) {
      const double v = count_larger(a, b);
      ++splits;
      less += v <= u + kRounding;
      greater += v >= u - kRounding;
      central += std::fabs(v - middle) >= std::fabs(u - middle) - kRounding;
      gaps += widest_gap(a, b) >= gap - kRounding;
    });
    const MannWhitney test = *mann_whitney(x, y);
    EXPECT_EQ(test.u_after, u);
    EXPECT_NEAR(*test.p_less, less / splits, kRounding);
    EXPECT_NEAR(*test.p_greater, greater / splits, kRounding);
    EXPECT_NEAR(*test.p_doubled, std::min(1.0, 2 * std::min(less, greater) / splits), kRounding);
    EXPECT_NEAR(*test.p_central, central / splits, kRounding);
    const Shift shift = *stats::shift(x, y);
    EXPECT_NEAR(shift.p_value, *test.p_doubled, kRounding);
    EXPECT_NEAR(shift.effect, u / middle - 1, kRounding);
    EXPECT_LE(shift.low, shift.estimate);
    EXPECT_GE(shift.high, shift.estimate);
    const DistributionTest ks = *kolmogorov_smirnov(x, y);
    EXPECT_NEAR(ks.statistic, gap, kRounding);
    EXPECT_NEAR(ks.p_value, gaps / splits, kRounding);
  }
}

// Midranks of what is not 0, by size.
Sample ranks_of_sizes(const Sample& differences) {
  Sample ranks;
  for (const double d : differences) {
    double rank = 0.5;
    for (const double other : differences) {
      rank += std::fabs(other) < std::fabs(d) ? 1 : std::fabs(other) == std::fabs(d) ? 0.5 : 0;
    }
    ranks.push_back(rank);
  }
  return ranks;
}

TEST(ExactTests, OfPairsCountEverySign) {
  testing::Random random(4);
  for (int round = 0; round < 150; ++round) {
    const std::size_t n = 1 + random.below(8);
    const Sample x = few_values(random, n, 1 + random.below(6), -2);
    const Sample y = few_values(random, n, 1 + random.below(6), -2);
    Sample differences;
    for (std::size_t i = 0; i < n; ++i) {
      if (x[i] != y[i]) differences.push_back(x[i] - y[i]);
    }
    const PairedTests tests = *paired_tests(x, y);
    ASSERT_EQ(tests.signed_rank.has_value(), !differences.empty());
    if (differences.empty()) continue;
    const Sample ranks = ranks_of_sizes(differences);
    double v = 0, up = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      v += differences[i] > 0 ? ranks[i] : 0;
      up += differences[i] > 0;
    }
    const double all = std::exp2(ranks.size());
    double less = 0, greater = 0, fewer = 0, more = 0;
    for (std::uint32_t bits = 0; bits < (1u << ranks.size()); ++bits) {
      double other = 0, signs = 0;
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        other += (bits >> i & 1) != 0 ? ranks[i] : 0;
        signs += bits >> i & 1;
      }
      less += other <= v + kRounding;
      greater += other >= v - kRounding;
      fewer += signs <= up;
      more += signs >= up;
    }
    EXPECT_EQ(tests.signed_rank->v, v);
    EXPECT_NEAR(tests.signed_rank->p_less, less / all, kRounding);
    EXPECT_NEAR(tests.signed_rank->p_greater, greater / all, kRounding);
    EXPECT_NEAR(tests.signed_rank->p_two_sided, std::min(1.0, 2 * std::min(less, greater) / all),
                kRounding);
    EXPECT_NEAR(tests.sign.p_value, std::min(1.0, 2 * std::min(fewer, more) / all), kRounding);
  }
}

}  // namespace
}  // namespace genscope::stats
