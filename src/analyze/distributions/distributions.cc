// Nearly everything here is the incomplete beta function. It is its density times a continued
// fraction (Lentz), on the side of the mean where the fraction converges, in O(sqrt(max(a, b)))
// steps. The density comes from Loader's saddle-point form of the binomial probability ("Fast and
// accurate computation of binomial probabilities", 2000), which has no difference of large
// logarithms, so that a and b of a million keep 13 digits. Quantiles bisect over the ordered
// doubles: 64 evaluations whatever the magnitude, no starting point, no failure to converge.
#include "analyze/distributions/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "analyze/statistics/doubles.h"
#include "analyze/statistics/normal.h"

namespace genscope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLogRootTwoPi = 0.91893853320467274178;

// ln Gamma without the global sign that std::lgamma writes.
double log_gamma(double x) noexcept {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// ln n! less Stirling's formula.
double stirling_error(double n) noexcept {
  if (n <= 15) {
    return log_gamma(n + 1) - (n + 0.5) * std::log(n) + n - kLogRootTwoPi;
  }
  const double nn = n * n;
  constexpr double kS0 = 1.0 / 12, kS1 = 1.0 / 360, kS2 = 1.0 / 1260, kS3 = 1.0 / 1680,
                   kS4 = 1.0 / 1188, kS5 = 691.0 / 360360;
  return (kS0 - (kS1 - (kS2 - (kS3 - (kS4 - kS5 / nn) / nn) / nn) / nn) / nn) / n;
}

// x ln(x / mean) + mean - x, without the cancellation near x = mean.
double deviance(double x, double mean) noexcept {
  if (std::fabs(x - mean) < 0.1 * (x + mean)) {
    double v = (x - mean) / (x + mean);
    double sum = (x - mean) * v;
    double term = 2 * x * v;
    v *= v;
    for (int j = 1; j < 1000; ++j) {
      term *= v;
      const double next = sum + term / (2 * j + 1);
      if (next == sum) return next;
      sum = next;
    }
    return sum;
  }
  return x * std::log(x / mean) + mean - x;
}

// x successes of n with probability p, q = 1 - p; x and n need not be whole.
double binomial_density(double x, double n, double p, double q) noexcept {
  if (p == 0) return x == 0 ? 1 : 0;
  if (q == 0) return x == n ? 1 : 0;
  if (x == 0) return n == 0 ? 1 : std::exp(p < 0.1 ? n * std::log1p(-p) : n * std::log(q));
  if (x == n) return std::exp(q < 0.1 ? n * std::log1p(-q) : n * std::log(p));
  if (x < 0 || x > n) return 0;
  const double exponent = stirling_error(n) - stirling_error(x) - stirling_error(n - x) -
                          deviance(x, n * p) - deviance(n - x, n * q);
  const double scale = std::log(2 * std::numbers::pi) + std::log(x) + std::log1p(-x / n);
  return std::exp(exponent - 0.5 * scale);
}

// I_x(a, b) = x^a y^b / (a B(a, b)) / (1 + d1 / (1 + d2 / (1 + ...))); y = 1 - x, given apart so
// that neither end loses digits.
double beta_fraction(double x, double y, double a, double b) noexcept {
  constexpr double kTiny = 1e-300, kEnough = 1e-16;
  constexpr int kMostSteps = 100'000;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  if (std::fabs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double fraction = d;
  for (int m = 1; m < kMostSteps; ++m) {
    const double twice = 2.0 * m;
    const double even = m * (b - m) * x / ((a + twice - 1) * (a + twice));
    const double odd = -(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1));
    double change = 1;
    for (const double term : {even, odd}) {
      d = 1 + term * d;
      c = 1 + term / c;
      if (std::fabs(d) < kTiny) d = kTiny;
      if (std::fabs(c) < kTiny) c = kTiny;
      d = 1 / d;
      change = c * d;
      fraction *= change;
    }
    if (std::fabs(change - 1) < kEnough) break;
  }
  // x^a y^b / B(a, b) = a b / (a + b) binomial_density(a, a + b, x); divided by a.
  const double front = b / (a + b) * binomial_density(a, a + b, x, y);
  return front * fraction;
}

double beta_lower(double x, double y, double a, double b) noexcept {
  if (!(a > 0) || !(b > 0) || std::isnan(x)) return kNaN;
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  if (x < (a + 1) / (a + b + 2)) return std::min(1.0, beta_fraction(x, y, a, b));
  return std::clamp(1 - beta_fraction(y, x, b, a), 0.0, 1.0);
}

// Lower regularised incomplete gamma: series below the mean, fraction above.
double gamma_lower(double a, double x) noexcept {
  if (!(x > 0)) return 0;
  if (std::isinf(x)) return 1;
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 1e-17; ++n) {
      term *= x / n;
      sum += term;
    }
    return std::min(1.0, front * sum);
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 100'000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    const double change = d * c;
    h *= change;
    if (std::fabs(change - 1) < 1e-16) break;
  }
  return std::max(0.0, 1 - front * h);
}

}  // namespace

double beta_cdf(double x, double a, double b) noexcept { return beta_lower(x, 1 - x, a, b); }

double beta_quantile(double p, double a, double b) noexcept {
  if (!(p >= 0 && p <= 1) || !(a > 0) || !(b > 0)) return kNaN;
  if (p == 0) return 0;
  if (p == 1) return 1;
  return first_where(0.0, 1.0, [&](double x) { return beta_cdf(x, a, b) >= p; });
}

double t_two_sided(double t, double df) noexcept {
  if (std::isnan(t) || !(df > 0)) return kNaN;
  if (std::isinf(t)) return 0;
  if (t == 0) return 1;
  // Of v / (v + t^2), written so that a huge t does not overflow.
  const double r = std::fabs(t) / std::sqrt(df);
  const double x = r > 1 ? (1 / r) * (1 / r) / (1 + (1 / r) * (1 / r)) : 1 / (1 + r * r);
  const double y = r > 1 ? 1 / (1 + (1 / r) * (1 / r)) : r * r / (1 + r * r);
  return beta_lower(x, y, df / 2, 0.5);
}

double t_cdf(double t, double df) noexcept {
  const double tail = t_two_sided(t, df) / 2;
  return t <= 0 ? tail : 1 - tail;
}

double t_quantile(double p, double df) noexcept {
  if (!(p >= 0 && p <= 1) || !(df > 0)) return kNaN;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p == 0.5) return 0;
  const double tails = 2 * std::min(p, 1 - p);
  const double t = first_where(0.0, std::numeric_limits<double>::max(),
                               [&](double at) { return t_two_sided(at, df) <= tails; });
  return p < 0.5 ? -t : t;
}

// R. V. Lenth, AS 243 (1989): Poisson weights of incomplete beta functions.
double noncentral_t_cdf(double t, double df, double delta) noexcept {
  if (std::isnan(t) || !(df > 0) || std::isnan(delta)) return kNaN;
  if (t < 0) return 1 - noncentral_t_cdf(-t, df, -delta);
  const double x = t * t / (df + t * t), y = df / (df + t * t);
  const double half = delta * delta / 2;
  if (half > 700) return t < delta ? 0 : 1;  // far beyond any power that matters
  double p = 0.5 * std::exp(-half);
  double q = std::sqrt(2 / std::numbers::pi) * p * delta;
  double sum = 0;
  for (int j = 0; x > 0 && j < 10'000; ++j) {
    sum += p * beta_lower(x, y, j + 0.5, df / 2) + q * beta_lower(x, y, j + 1.0, df / 2);
    p *= half / (j + 1);
    q *= half / (j + 1.5);
    if (j > half && p < 1e-15 && std::fabs(q) < 1e-15) break;
  }
  return std::clamp(sum + normal_cdf(-delta), 0.0, 1.0);
}

double f_upper(double f, double df1, double df2) noexcept {
  if (std::isnan(f) || !(df1 > 0) || !(df2 > 0)) return kNaN;
  if (f <= 0) return 1;
  if (std::isinf(f)) return 0;
  const double below = df1 * f + df2;
  return beta_lower(df2 / below, df1 * f / below, df2 / 2, df1 / 2);
}

double chi_square_cdf(double x, double df) noexcept {
  return df > 0 && !std::isnan(x) ? gamma_lower(df / 2, x / 2) : kNaN;
}

double binomial_mass(double k, double n, double p) noexcept {
  if (!(p >= 0 && p <= 1) || !(n >= 0)) return kNaN;
  if (k < 0 || k > n) return 0;
  return binomial_density(k, n, p, 1 - p);
}

double binomial_cdf(double k, double n, double p) noexcept {
  if (!(p >= 0 && p <= 1) || !(n >= 0) || std::isnan(k)) return kNaN;
  if (k < 0) return 0;
  if (k >= n) return 1;
  return beta_lower(1 - p, p, n - std::floor(k), std::floor(k) + 1);
}

double hypergeometric_mass(double k, double ok, double failed, double drawn) noexcept {
  const double all = ok + failed;
  if (k < 0 || k > ok || drawn - k < 0 || drawn - k > failed) return 0;
  if (drawn == 0 || drawn == all) return 1;
  const double p = drawn / all, q = (all - drawn) / all;
  return binomial_density(k, ok, p, q) * binomial_density(drawn - k, failed, p, q) /
         binomial_density(drawn, all, p, q);
}

SignedRank::SignedRank(std::size_t n) {
  std::vector<std::uint32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 1U);
  *this = SignedRank(ranks);
}

SignedRank::SignedRank(const std::vector<std::uint32_t>& scores) {
  const std::size_t most = std::accumulate(scores.begin(), scores.end(), std::size_t{0});
  probability_.assign(most + 1, 0);
  probability_[0] = 1;
  std::size_t reached = 0;
  for (const std::uint32_t score : scores) {
    reached += score;
    for (std::size_t s = reached + 1; s-- > 0;) {
      probability_[s] = 0.5 * (probability_[s] + (s >= score ? probability_[s - score] : 0));
    }
  }
}

double SignedRank::at_most(double sum) const noexcept {
  double p = 0;
  for (std::size_t s = 0; s < probability_.size() && static_cast<double>(s) <= sum; ++s) {
    p += probability_[s];
  }
  return std::min(p, 1.0);
}

double SignedRank::at_least(double sum) const noexcept {
  double p = 0;
  for (std::size_t s = probability_.size(); s-- > 0 && static_cast<double>(s) >= sum;) {
    p += probability_[s];
  }
  return std::min(p, 1.0);
}

std::uint64_t SignedRank::quantile(double p) const noexcept {
  const double wanted = p - 4 * std::numeric_limits<double>::epsilon();
  double reached = 0;
  for (std::size_t s = 0; s < probability_.size(); ++s) {
    reached += probability_[s];
    if (reached >= wanted) return s;
  }
  return probability_.size() - 1;
}

}  // namespace genscope::stats
