// Tests of two independent samples: O(n log n) from ranking, and the exact distribution of
// Mann-Whitney's U where pairs are few (rank_sum.h).
#include <cmath>
#include <limits>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/rank_sum.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

struct Moments {
  double n = 0, mean = 0, variance = 0;
};

// A variance beyond a double is infinite; that of one sample is 0.
std::optional<Moments> moments_of(std::span<const double> samples) {
  const Description d = describe(samples);
  if (!d.mean) return std::nullopt;
  const double deviation =
      d.count < 2 ? 0 : d.stddev.value_or(std::numeric_limits<double>::infinity());
  return Moments{static_cast<double>(d.count), *d.mean, deviation * deviation};
}

std::optional<TTest> finish_t(double difference, double error, double df, double confidence) {
  if (!(error > 0) || !std::isfinite(error) || !std::isfinite(difference)) return std::nullopt;
  TTest test;
  test.difference = difference;
  test.t = difference / error;
  test.df = df;
  test.p_value = t_two_sided(test.t, df);
  const double reach = t_quantile((1 + confidence) / 2, df) * error;
  test.interval = {difference - reach, difference + reach, confidence};
  return test;
}

double two_sided_normal(double distance, double variance) noexcept {
  if (!(variance > 0)) return 1;
  return std::min(1.0, 2 * normal_cdf(-std::max(0.0, distance) / std::sqrt(variance)));
}

}  // namespace

std::optional<MannWhitney> mann_whitney(std::span<const double> before,
                                        std::span<const double> after) {
  if (!some_finite(before) || !some_finite(after)) return std::nullopt;
  const RankSum ranks(sorted_copy(before), sorted_copy(after));
  const double pairs = static_cast<double>(ranks.m) * static_cast<double>(ranks.n);
  const auto all = static_cast<double>(ranks.m + ranks.n);
  MannWhitney result;
  result.u_before = ranks.u_before;
  result.u_after = pairs - ranks.u_before;
  result.a12 = result.u_after / pairs;
  result.p_normal = ranks.p_normal();
  const double variance = pairs / 12 * ((all + 1) - ranks.tie_sum / (all * (all - 1)));
  result.p_normal_uncorrected = two_sided_normal(std::fabs(ranks.u_before - pairs / 2), variance);
  if (!ranks.exact()) return result;
  const std::size_t smaller = std::min(ranks.m, ranks.n);
  const bool ours = ranks.m <= ranks.n;  // sums are of the smaller side's doubled ranks
  const double u = ours ? result.u_before : result.u_after;
  const SubsetSums sums(ranks.scores, smaller);
  const double offset = static_cast<double>(smaller) * static_cast<double>(smaller + 1);
  const double below = sums.at_most(2 * u + offset), above = sums.at_least(2 * u + offset);
  // A large sum of "before" means a small "after".
  result.p_less = ours ? above : below;
  result.p_greater = ours ? below : above;
  result.p_doubled = std::min(1.0, 2 * std::min(below, above));
  const double distance = std::fabs(2 * u - pairs);
  result.p_central = distance == 0 ? 1
                                   : std::min(1.0, sums.at_most(pairs - distance + offset) +
                                                       sums.at_least(pairs + distance + offset));
  return result;
}

std::optional<TTest> welch_test(std::span<const double> before, std::span<const double> after,
                                double confidence) {
  if (before.size() < 2 || after.size() < 2 || !inside_unit(confidence)) return std::nullopt;
  const auto x = moments_of(before), y = moments_of(after);
  if (!x || !y) return std::nullopt;
  const double a = x->variance / x->n, b = y->variance / y->n, sum = a + b;
  if (!(sum > 0) || !std::isfinite(sum)) return std::nullopt;
  // (a + b)^2 / (a^2 / (m - 1) + b^2 / (n - 1)), in shares, so that no square leaves the range.
  const double s = a / sum, r = b / sum;
  const double df = 1 / (s * s / (x->n - 1) + r * r / (y->n - 1));
  return finish_t(x->mean - y->mean, std::sqrt(sum), df, confidence);
}

std::optional<TTest> student_test(std::span<const double> before, std::span<const double> after,
                                  double confidence) {
  if (before.size() + after.size() < 3 || !inside_unit(confidence)) return std::nullopt;
  const auto x = moments_of(before), y = moments_of(after);
  if (!x || !y) return std::nullopt;
  const double df = x->n + y->n - 2;
  const double pooled = ((x->n - 1) * x->variance + (y->n - 1) * y->variance) / df;
  return finish_t(x->mean - y->mean, std::sqrt(pooled * (1 / x->n + 1 / y->n)), df, confidence);
}

std::optional<EffectSize> effect_size(std::span<const double> before,
                                      std::span<const double> after) {
  if (before.size() + after.size() < 3) return std::nullopt;
  const auto x = moments_of(before), y = moments_of(after);
  if (!x || !y) return std::nullopt;
  const double df = x->n + y->n - 2;
  const double pooled = std::sqrt(((x->n - 1) * x->variance + (y->n - 1) * y->variance) / df);
  if (!(pooled > 0) || !std::isfinite(pooled)) return std::nullopt;
  EffectSize effect;
  effect.cohens_d = (y->mean - x->mean) / pooled;
  // Gamma((v - 1) / 2) is infinite at v = 1: no correction exists, g is 0 there.
  const double j =
      df > 1 ? std::exp(std::lgamma(df / 2) - std::lgamma((df - 1) / 2) - 0.5 * std::log(df / 2))
             : 0;
  effect.hedges_g = j * effect.cohens_d;
  return effect;
}

std::vector<RelativeSpeed> relative_speeds(std::span<const std::vector<double>> times) {
  std::vector<Moments> all;
  for (const std::vector<double>& samples : times) {
    const std::optional<Moments> m = moments_of(samples);
    if (!m || !(m->mean > 0)) return {};
    all.push_back(*m);
  }
  std::vector<RelativeSpeed> speeds;
  if (all.empty()) return speeds;
  const Moments fastest = *std::min_element(
      all.begin(), all.end(), [](const Moments& a, const Moments& b) { return a.mean < b.mean; });
  for (const Moments& m : all) {
    RelativeSpeed speed;
    speed.ratio = m.mean / fastest.mean;
    if (m.n > 1 && fastest.n > 1) {
      speed.error = speed.ratio * std::hypot(std::sqrt(m.variance) / m.mean,
                                             std::sqrt(fastest.variance) / fastest.mean);
    }
    speeds.push_back(speed);
  }
  return speeds;
}

}  // namespace genscope::stats
