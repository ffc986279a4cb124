// Distributions that tests, intervals and sample sizes are made of. R's names stand in brackets.
//
// Tails are accurate in relative terms, to some 1e-13, as far as a double reaches: p = 1e-28 is
// right in its first 13 digits. Arguments outside the domain give NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace genscope::stats {

// Regularised incomplete beta function I_x(a, b) [pbeta]; a, b > 0.
double beta_cdf(double x, double a, double b) noexcept;
double beta_quantile(double p, double a, double b) noexcept;  // [qbeta]

// Student's t with `df` > 0 degrees of freedom, which need not be whole.
double t_cdf(double t, double df) noexcept;        // [pt]
double t_two_sided(double t, double df) noexcept;  // P(|T| >= |t|)
double t_quantile(double p, double df) noexcept;   // [qt]
// P(T <= t) with non-centrality `delta`: the power of a t-test [pt(t, df, ncp)]. Absolute accuracy
// of some 1e-10.
double noncentral_t_cdf(double t, double df, double delta) noexcept;

double f_upper(double f, double df1, double df2) noexcept;  // P(F >= f) [1 - pf]
double chi_square_cdf(double x, double df) noexcept;        // [pchisq]

// P(X = k), P(X <= k) of n trials with probability p; k, n whole numbers.
double binomial_mass(double k, double n, double p) noexcept;
double binomial_cdf(double k, double n, double p) noexcept;  // [pbinom]

// P(X = k) when `drawn` of ok + failed items are drawn and k of them are ok [dhyper].
double hypergeometric_mass(double k, double ok, double failed, double drawn) noexcept;

// Wilcoxon's signed-rank statistic: sums of a random subset of scores, each in with chance 1/2.
// O(n^3) time for the ranks 1 to n, n^2 / 2 doubles.
class SignedRank {
 public:
  explicit SignedRank(std::size_t n);                             // ranks 1 .. n [psignrank]
  explicit SignedRank(const std::vector<std::uint32_t>& scores);  // e.g. doubled midranks
  double at_most(double sum) const noexcept;
  double at_least(double sum) const noexcept;
  std::uint64_t quantile(double p) const noexcept;  // smallest v with at_most(v) >= p [qsignrank]

 private:
  std::vector<double> probability_;
};

}  // namespace genscope::stats
