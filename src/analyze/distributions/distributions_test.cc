#include "analyze/distributions/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/statistics/normal.h"

namespace genscope::stats {
namespace {

constexpr double kBeyond = std::numeric_limits<double>::infinity();

TEST(BetaDistribution, MirrorsAndHasItsClosedForms) {
  for (const double a : {0.5, 1.0, 2.5, 40.0, 700.0, 1e5}) {
    for (const double b : {0.5, 1.0, 3.0, 25.0, 900.0}) {
      for (const double x : {0.01, 0.2, 0.5, 0.77, 0.999}) {
        EXPECT_NEAR(beta_cdf(x, a, b) + beta_cdf(1 - x, b, a), 1, 1e-12);
      }
      EXPECT_EQ(beta_cdf(0, a, b), 0);
      EXPECT_EQ(beta_cdf(1, a, b), 1);
    }
    EXPECT_NEAR(beta_cdf(0.5, a, a), 0.5, 1e-12);
    if (a < 1000) {
      EXPECT_NEAR(beta_cdf(0.9, a, 1) / std::pow(0.9, a), 1, 1e-9) << a;  // x^a
    }
  }
}

TEST(BetaDistribution, QuantileInverts) {
  for (const double p : {1e-9, 0.025, 0.5, 0.975}) {
    for (const double a : {0.5, 3.0, 200.0}) {
      EXPECT_NEAR(beta_cdf(beta_quantile(p, a, 7), a, 7) / p, 1, 1e-9);
    }
  }
}

TEST(StudentDistribution, HasItsKnownFormsAndTails) {
  for (const double t : {-30.0, -1.0, 0.0, 0.3, 5.0, 1e6}) {
    EXPECT_NEAR(t_cdf(t, 1), 0.5 + std::atan(t) / std::acos(-1.0), 1e-13);  // Cauchy
    EXPECT_NEAR(t_cdf(t, 1e9), normal_cdf(t), 1e-8);
  }
  // Two degrees of freedom: the tail is 1 / (2 t^2) far out. No digit is lost at 1e-30.
  EXPECT_NEAR(t_two_sided(1e15, 2) * 1e30, 1, 1e-9);
  EXPECT_EQ(t_two_sided(kBeyond, 5), 0);
  EXPECT_GT(t_two_sided(1e150, 1), 0);
  for (const double df : {1.0, 2.0, 7.7, 300.0}) {
    for (const double p : {1e-8, 0.1, 0.5, 0.9, 0.999999}) {
      EXPECT_NEAR(t_cdf(t_quantile(p, df), df) / p, 1, 1e-9);
    }
    EXPECT_NEAR(t_quantile(0.3, df), -t_quantile(0.7, df), 1e-14);
  }
}

TEST(NoncentralT, IsStudentsWithoutCentreAndNormalWithManyRuns) {
  for (const double t : {-2.0, 0.0, 1.3, 4.0}) {
    EXPECT_NEAR(noncentral_t_cdf(t, 9, 0), t_cdf(t, 9), 1e-10);
    EXPECT_NEAR(noncentral_t_cdf(t, 1e7, 1.5), normal_cdf(t - 1.5), 1e-6);
  }
  EXPECT_LT(noncentral_t_cdf(2, 10, 60), 1e-12);
}

TEST(BinomialDistribution, SumsItsMasses) {
  for (const double n : {1.0, 10.0, 61.0}) {
    for (const double p : {0.01, 0.5, 0.93}) {
      double sum = 0;
      for (double k = 0; k <= n; ++k) {
        sum += binomial_mass(k, n, p);
        EXPECT_NEAR(binomial_cdf(k, n, p), sum, 1e-12);
      }
    }
  }
  EXPECT_EQ(binomial_cdf(-1, 5, 0.5), 0);
  EXPECT_EQ(binomial_cdf(5, 5, 0.5), 1);
}

TEST(Distributions, OutsideTheirDomainAreNotANumber) {
  const double nan = std::nan("");
  for (const double got :
       {beta_cdf(0.5, 0, 1), beta_cdf(nan, 1, 1), t_cdf(1, 0), t_cdf(nan, 3), t_quantile(1.5, 3),
        t_quantile(nan, 3), binomial_cdf(1, 2, 1.5), chi_square_cdf(1, 0), f_upper(nan, 1, 1)}) {
    EXPECT_TRUE(std::isnan(got));
  }
  EXPECT_EQ(chi_square_cdf(kBeyond, 3), 1);
  EXPECT_EQ(chi_square_cdf(-1, 3), 0);
  EXPECT_EQ(f_upper(kBeyond, 2, 3), 0);
  EXPECT_EQ(f_upper(0, 2, 3), 1);
}

TEST(SignedRanks, CountSubsetsByHand) {
  const SignedRank three(3);  // sums 0 1 2 3 3 4 5 6
  EXPECT_EQ(three.at_most(2), 3.0 / 8);
  EXPECT_EQ(three.at_least(3), 5.0 / 8);
  EXPECT_EQ(three.quantile(0.5), 3u);
  const SignedRank none(std::size_t{0});
  EXPECT_EQ(none.at_most(0), 1);
}

}  // namespace
}  // namespace genscope::stats
