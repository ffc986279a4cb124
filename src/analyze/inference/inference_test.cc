// What the vectors do not say: small and odd samples, the ends of the range, properties.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"
#include "testing/random.h"

namespace genscope::stats {
namespace {

using Values = std::vector<double>;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kHuge = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

Values noisy(testing::Random& random, std::size_t n, double middle = 100) {
  Values values(n);
  for (double& v : values) v = middle + static_cast<double>(random.below(1u << 20)) / (1u << 18);
  return values;
}

// Every function of two samples answers, or says that it cannot; none loops or crashes.
TEST(Inference, SurvivesEveryOddSample) {
  const std::vector<Values> odd{{},
                                {1},
                                {1, 2},
                                {3, 3, 3, 3},
                                {0, 0},
                                {-1, 0, 1},
                                {1, std::nan("")},
                                {kInf, 1},
                                {kHuge, -kHuge, kHuge},
                                {kTiny, 2 * kTiny, 0},
                                {1e-300, 1e300, 1, 2, 3, 4, 5}};
  for (const Values& x : odd) {
    const bool finite = describe(x).mean.has_value();
    mean_interval(x);
    median_interval(x);
    effective_count(x);
    const auto fences = tukey_fences(x);
    const auto normality = shapiro_wilk(x);
    if (normality) {
      EXPECT_TRUE(normality->p_value >= 0 && normality->p_value <= 1);
    }
    for (const auto& figure : {harrell_davis(x, 0.9), geometric_mean(x), autocorrelation(x),
                               loadgen_percentile(x, 0.9)}) {
      if (!finite) {
        EXPECT_FALSE(figure);
      }
      if (figure) {
        EXPECT_FALSE(std::isnan(*figure));
      }
    }
    EXPECT_TRUE(finite || !fences);
    for (const Values& y : odd) {
      const auto test = mann_whitney(x, y);
      if (test) {
        EXPECT_NEAR(test->u_before + test->u_after, static_cast<double>(x.size() * y.size()), 1e-9);
        EXPECT_TRUE(test->p_doubled.value_or(1) <= 1);
      }
      for (const auto& t : {welch_test(x, y), student_test(x, y)}) {
        if (t) {
          EXPECT_TRUE(t->p_value >= 0 && t->p_value <= 1);
        }
      }
      const auto ks = kolmogorov_smirnov(x, y), cvm = cramer_von_mises(x, y);
      if (ks) {
        EXPECT_TRUE(ks->p_value >= 0 && ks->p_value <= 1);
      }
      if (cvm) {
        EXPECT_TRUE(cvm->p_value >= 0 && cvm->p_value <= 1);
      }
      effect_size(x, y);
      paired_tests(x, y);
      paired_ratio(x, y);
      spearman(x, y);
      least_squares(x, y);
      mann_kendall(x, y);
      const std::vector<Values> both{x, y};
      clusters(both);
      relative_speeds(both);
      const auto booted = bootstrap(
          both, [](auto s) { return *describe(s[0]).mean + *describe(s[1]).mean; }, {50, 1, 0.9});
      EXPECT_TRUE(!booted || std::isfinite(booted->estimate));
    }
  }
}

TEST(MannWhitneyTest, TurnsWithItsSides) {
  testing::Random random(1);
  for (int round = 0; round < 50; ++round) {
    Values x(1 + random.below(9)), y(1 + random.below(9));
    for (double& v : x) v = static_cast<double>(random.below(6));
    for (double& v : y) v = static_cast<double>(random.below(6));
    const MannWhitney a = *mann_whitney(x, y), b = *mann_whitney(y, x);
    EXPECT_EQ(a.u_before, b.u_after);
    EXPECT_NEAR(*a.p_less, *b.p_greater, 1e-12);
    EXPECT_NEAR(*a.p_central, *b.p_central, 1e-12);
    EXPECT_NEAR(a.a12, 1 - b.a12, 1e-12);
  }
}

TEST(KolmogorovSmirnov, OfSeparateSamplesIsOneOverTheOrders) {
  // Both orders of 4 against 4 that are wholly apart, of 70.
  const auto test = *kolmogorov_smirnov(Values{1, 2, 3, 4}, Values{5, 6, 7, 8});
  EXPECT_EQ(test.statistic, 1);
  EXPECT_NEAR(test.p_value, 2.0 / 70, 1e-12);
  EXPECT_EQ(kolmogorov_smirnov(Values{1, 1, 1}, Values{1, 1})->p_value, 1);
}

TEST(KolmogorovSmirnov, LimitIsNearTheExactAtTheBorder) {
  testing::Random random(2);
  const Values x = noisy(random, 100), y = noisy(random, 100, 100.7), more = noisy(random, 101);
  const auto exact = *kolmogorov_smirnov(x, y);
  EXPECT_TRUE(exact.exact);
  EXPECT_FALSE(kolmogorov_smirnov(x, more)->exact);
  const double z = exact.statistic * std::sqrt(50.0);
  EXPECT_NEAR(exact.p_value, 2 * std::exp(-2 * z * z), 0.02);
}

TEST(SignedRankTests, KnowTheirWalshAverages) {
  testing::Random random(3);
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 1 + random.below(15);
    Values x(n), y(n, 0.0), averages;
    for (double& v : x) v = static_cast<double>(random.below(64)) / 4 - 8;
    std::erase(x, 0.0);
    y.resize(x.size());
    if (x.empty()) continue;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = i; j < x.size(); ++j) averages.push_back((x[i] + x[j]) / 2);
    }
    const SignedRankTest test = *paired_tests(x, y)->signed_rank;
    EXPECT_EQ(test.pseudomedian, *quantile(averages, 0.5));
    EXPECT_LE(test.interval.low, test.pseudomedian);
    EXPECT_GE(test.interval.high, test.pseudomedian);
  }
}

TEST(SignedRankTests, OfManyPairsUseTheNormalAndAgree) {
  testing::Random random(4);
  const Values x = noisy(random, 100), y = noisy(random, 100, 100.3);
  Values more_x = x, more_y = y;
  more_x.push_back(101), more_y.push_back(101.5);
  const auto exact = *paired_tests(x, y)->signed_rank,
             normal = *paired_tests(more_x, more_y)->signed_rank;
  EXPECT_TRUE(exact.exact);
  EXPECT_FALSE(normal.exact);
  EXPECT_NEAR(exact.p_two_sided, exact.p_normal, 0.01);
  EXPECT_NEAR(normal.interval.confidence, 0.95, 0.01);
}

TEST(PairedTests, OfEqualPairsFindNothing) {
  const Values same{1, 2, 3, 4, 5, 6, 7};
  const PairedTests tests = *paired_tests(same, same);
  EXPECT_FALSE(tests.student);
  EXPECT_FALSE(tests.signed_rank);
  EXPECT_EQ(tests.sign.p_value, 1);
  EXPECT_EQ(tests.spearman, 1);
  const PairedRatio ratio = *paired_ratio(same, same);
  EXPECT_EQ(ratio.ratio, 1);
  EXPECT_EQ(ratio.interval->low, 1);
  EXPECT_FALSE(paired_tests(same, Values{1, 2}));
  EXPECT_FALSE(paired_ratio(Values{1, 0}, Values{1, 2})) << "0 has no ratio";
}

TEST(MedianPlaces, CoverAsTheySay) {
  for (std::uint64_t n = 1; n < 400; ++n) {
    for (const double level : {0.75, 0.9, 0.95, 0.99}) {
      const auto places = median_places(n, level);
      EXPECT_EQ(places.has_value(), n >= least_for_median(level));
      if (!places) continue;
      EXPECT_GE(places->confidence, level - 1e-12);
      EXPECT_EQ(places->low + places->high, n + 1);
      const auto wider = median_places(n, level + 0.005);
      if (wider) {
        EXPECT_LE(wider->low, places->low);
      }
    }
  }
  EXPECT_EQ(least_for_median(0.75), 3u);  // 2^-3 is the tail exactly
  EXPECT_FALSE(median_places(100, 1));
  EXPECT_TRUE(median_places(1'000'000'000, 0.95));
}

TEST(Adjust, KeepsOrderAndBounds) {
  testing::Random random(5);
  for (const Correction c : {Correction::bonferroni, Correction::holm, Correction::hochberg,
                             Correction::benjamini_hochberg, Correction::benjamini_yekutieli}) {
    Values p(1 + random.below(30));
    for (double& v : p) v = static_cast<double>(random.below(1000)) / 1000;
    const Values adjusted = adjust(p, c);
    for (std::size_t i = 0; i < p.size(); ++i) {
      EXPECT_GE(adjusted[i], p[i]);
      EXPECT_LE(adjusted[i], 1);
      for (std::size_t j = 0; j < p.size(); ++j) {
        if (p[i] < p[j]) {
          EXPECT_LE(adjusted[i], adjusted[j]);
        }
      }
    }
    EXPECT_TRUE(adjust(Values{0.1, std::nan("")}, c).empty());
    EXPECT_TRUE(adjust(Values{0.1, 1.1}, c).empty());
    EXPECT_TRUE(adjust({}, c).empty());
    EXPECT_EQ(adjust(Values{0.03}, c), Values{0.03});
  }
}

TEST(Proportion, KnowsWhatFewTrialsShow) {
  EXPECT_NEAR(proportion(10, 10)->wilson.low, 0.722, 0.001);
  EXPECT_GE(proportion(59, 59, 0.9)->clopper_pearson.low, 0.95) << "59 passes show 95 %, one-sided";
  EXPECT_FALSE(proportion(0, 0));
  EXPECT_FALSE(proportion(2, 1));
  EXPECT_FALSE(fisher_exact(0, 0, 3, 4));
}

TEST(RunsNeeded, AreConsistent) {
  const double n = *runs_for_effect(0.02, 0.02, 0.05, 0.8);
  EXPECT_NEAR(*detectable_effect(static_cast<std::uint64_t>(std::ceil(n)), 0.02), 0.02, 0.001);
  EXPECT_EQ(runs_for_effect(10, 0.001), 2) << "two runs are the least";
  EXPECT_FALSE(runs_for_effect(0, 0.1));
  EXPECT_FALSE(runs_for_effect(1e-9, 0.1)) << "a billion runs are no plan";
  EXPECT_FALSE(half_width(1, 0.1));
  EXPECT_EQ(runs_for_half_width(0, 0, 0.01), 2u);
  EXPECT_FALSE(runs_for_half_width(5, std::nan(""), 0.01));
  EXPECT_FALSE(detectable_effect(1, 0.1));
}

TEST(EarlyStopping, NeedsAsManyAsMlperfSays) {
  EXPECT_EQ(claim_percentile(Values(63, 1.0), 0.9)->least, 64u);
  EXPECT_EQ(claim_percentile(Values(20, 1.0), 0.99)->least, 662u);
  EXPECT_FALSE(claim_percentile(Values(20, 1.0), 0.99)->estimate) << "no p99 from 20 images";
  const Values usual{0.5, 0.9, 0.95, 0.97, 0.99};
  EXPECT_EQ(largest_claim(20, usual), 0.5);
  EXPECT_EQ(largest_claim(64, usual), 0.9);
  EXPECT_FALSE(largest_claim(3, usual));
  EXPECT_FALSE(claim_percentile(Values{}, 1.0));
  EXPECT_FALSE(claim_percentile(Values{}, 0.5)->estimate);
  EXPECT_FALSE(server_run(5, 6, 0.9));
  EXPECT_EQ(server_run(600, 1, 0.99)->missing, 62u);
}

TEST(ClusteredRuns, OfUnequalSizesAndConstants) {
  const auto unequal = clusters(std::vector<Values>{{1, 2, 3}, {2, 3}, {9}});
  ASSERT_TRUE(unequal);
  EXPECT_GT(unequal->design_effect, 1);
  const auto constant = clusters(std::vector<Values>{{1, 1}, {1, 1}});
  EXPECT_FALSE(constant->icc);
  EXPECT_EQ(constant->effective_count, 4);
  const auto apart = clusters(std::vector<Values>{{1, 1, 1}, {2, 2, 2}});
  EXPECT_EQ(apart->icc, 1);
  EXPECT_EQ(apart->effective_count, 2) << "six iterations say what two processes say";
  EXPECT_EQ(apart->p_value, 0);
  EXPECT_FALSE(clusters(std::vector<Values>{{1}, {2}, {3}}));
  EXPECT_FALSE(clusters(std::vector<Values>{{1, 2}}));
}

TEST(BootstrapBca, HoldsTheMeanAsOftenAsItSaysAndIsRepeatable) {
  testing::Random random(6);
  const Statistic mean = [](auto samples) { return *describe(samples[0]).mean; };
  int held = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Values> sample{noisy(random, 20)};
    const Bootstrap b = *bootstrap(sample, mean, {200, 1, 0.9});
    held += b.bca.interval.low <= 102 && 102 <= b.bca.interval.high ? 1 : 0;
    if (round == 0) {
      EXPECT_EQ(bootstrap(sample, mean, {200, 1, 0.9})->bca.interval.low, b.bca.interval.low);
    }
  }
  EXPECT_NEAR(held / static_cast<double>(kRounds), 0.9, 0.07);
}

TEST(BootstrapBca, OfProcessesIsWiderThanOfTheirIterations) {
  // Four processes that differ by far more than their iterations.
  std::vector<Values> processes;
  Values all;
  testing::Random random(7);
  for (int p = 0; p < 4; ++p) {
    processes.push_back(noisy(random, 10, 100 + 20 * p));
    all.insert(all.end(), processes.back().begin(), processes.back().end());
  }
  const auto mean = [](std::span<const double> v) { return *describe(v).mean; };
  const auto width = [](const Bootstrap& b) { return b.bca.interval.high - b.bca.interval.low; };
  const Bootstrap nested = *cluster_bootstrap(processes, mean, {500, 1, 0.95});
  const Bootstrap flat =
      *bootstrap(std::vector<Values>{all}, [&](auto s) { return mean(s[0]); }, {500, 1, 0.95});
  EXPECT_GT(width(nested), 1.5 * width(flat));
  EXPECT_NEAR(nested.estimate, flat.estimate, 1e-9);
}

TEST(BootstrapBca, OfConstantsIsThatConstant) {
  const auto b = bootstrap(std::vector<Values>{Values(5, 3.0)},
                           [](auto s) { return *describe(s[0]).mean; }, {100, 1, 0.95});
  EXPECT_EQ(b->bca.interval.low, 3);
  EXPECT_EQ(b->bca.interval.high, 3);
}

TEST(RelativeSpeeds, HaveHyperfinesError) {
  const auto speeds = relative_speeds(std::vector<Values>{{2, 2.2}, {1, 1.1}, {4}});
  ASSERT_EQ(speeds.size(), 3u);
  EXPECT_EQ(speeds[1].ratio, 1);
  EXPECT_NEAR(speeds[0].ratio, 2, 1e-12);
  const double cv = std::sqrt(0.02) / 2.1;
  EXPECT_NEAR(*speeds[0].error, 2 * std::sqrt(2) * cv, 1e-9);
  EXPECT_FALSE(speeds[2].error) << "one run has no deviation";
  EXPECT_TRUE(relative_speeds(std::vector<Values>{{1}, {}}).empty());
}

}  // namespace
}  // namespace genscope::stats
