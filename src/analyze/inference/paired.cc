// Tests of pairs. Ranking is O(n log n). The order statistics of the n (n + 1) / 2 Walsh averages
// are found by bisection over the ordered doubles, a walk of n for each of at most 64 halvings,
// without listing them. The exact signed-rank distribution is built up to 100 differences, over
// doubled midranks, so that ties are right; beyond, the normal approximation.
#include <cmath>
#include <cstdint>
#include <numeric>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/doubles.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

constexpr std::size_t kExactDifferences = 100;

struct Midranks {
  std::vector<double> rank;  // from 1, in the order of the values
  double tie_sum = 0;        // of t^3 - t
};

Midranks midranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  Midranks result;
  result.rank.resize(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) result.rank[order[i]] = rank;
    const auto tied = static_cast<double>(end - begin);
    result.tie_sum += tied * tied * tied - tied;
  }
  return result;
}

// Means of two values, each with itself too; values sorted.
class WalshAverages {
 public:
  explicit WalshAverages(std::span<const double> sorted) noexcept : values_(sorted) {}
  std::uint64_t size() const noexcept { return values_.size() * (values_.size() + 1) / 2; }
  double at(std::uint64_t place) const noexcept {  // from 1
    return first_where(values_.front(), values_.back(),
                       [&](double limit) { return at_most(limit) >= place; });
  }
  double median() const noexcept {
    const std::uint64_t n = size();
    return n % 2 == 1 ? at(n / 2 + 1) : std::midpoint(at(n / 2), at(n / 2 + 1));
  }

 private:
  std::uint64_t at_most(double limit) const noexcept {
    std::uint64_t count = 0;
    std::size_t j = values_.size();  // pairs (i, i .. j - 1) are at or below the limit
    for (std::size_t i = 0; i < values_.size(); ++i) {
      while (j > i && std::midpoint(values_[i], values_[j - 1]) > limit) --j;
      if (j <= i) break;
      count += j - i;
    }
    return count;
  }
  std::span<const double> values_;
};

SignTest sign_test(std::span<const double> differences) {
  SignTest test;
  for (const double d : differences) {
    test.positive += d > 0 ? 1 : 0;
    test.negative += d < 0 ? 1 : 0;
  }
  const auto fewer = static_cast<double>(std::min(test.positive, test.negative));
  const auto all = static_cast<double>(test.positive + test.negative);
  if (all > 0) test.p_value = std::min(1.0, 2 * binomial_cdf(fewer, all, 0.5));
  return test;
}

// Places k and N + 1 - k of the Walsh averages, k = qsignrank(tail, n), at least 1.
Interval walsh_interval(const WalshAverages& averages, std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  const auto size = static_cast<double>(n);
  std::uint64_t k = 1;
  double reached = 0;
  if (n <= kExactDifferences) {
    const SignedRank null(n);
    k = std::max<std::uint64_t>(1, null.quantile(tail));
    reached = 1 - 2 * null.at_most(static_cast<double>(k) - 1);
  } else {
    const double middle = size * (size + 1) / 4;
    const double sigma = std::sqrt(size * (size + 1) * (2 * size + 1) / 24);
    k = static_cast<std::uint64_t>(
        std::max(1.0, std::floor(middle + normal_quantile(tail) * sigma)));
    reached = 1 - 2 * normal_cdf((static_cast<double>(k) - 0.5 - middle) / sigma);
  }
  return {averages.at(k), averages.at(averages.size() + 1 - k), std::max(0.0, reached)};
}

std::optional<SignedRankTest> signed_rank_test(std::span<const double> all, double confidence) {
  std::vector<double> differences, sizes;
  for (const double d : all) {
    if (d == 0) continue;
    differences.push_back(d);
    sizes.push_back(std::fabs(d));
  }
  const std::size_t n = differences.size();
  if (n == 0) return std::nullopt;
  const Midranks ranks = midranks(sizes);
  SignedRankTest test;
  std::vector<std::uint32_t> scores;
  for (std::size_t i = 0; i < n; ++i) {
    if (differences[i] > 0) test.v += ranks.rank[i];
    scores.push_back(static_cast<std::uint32_t>(2 * ranks.rank[i]));
  }
  const auto size = static_cast<double>(n);
  const double off = test.v - size * (size + 1) / 4;
  const double sigma = std::sqrt(size * (size + 1) * (2 * size + 1) / 24 - ranks.tie_sum / 48);
  const auto tail = [&](double distance) {  // P(V - mean <= distance), continuity corrected
    return normal_cdf((distance + 0.5) / sigma);
  };
  if (sigma > 0) {
    test.p_normal = std::min(1.0, 2 * normal_cdf(-std::max(0.0, std::fabs(off) - 0.5) / sigma));
    test.p_less = tail(off);
    test.p_greater = tail(-off);
  }
  test.exact = n <= kExactDifferences;
  if (test.exact) {
    const SignedRank null(scores);
    test.p_less = null.at_most(2 * test.v);
    test.p_greater = null.at_least(2 * test.v);
    test.p_two_sided = std::min(1.0, 2 * std::min(test.p_less, test.p_greater));
  } else {
    test.p_two_sided = test.p_normal;
  }
  std::sort(differences.begin(), differences.end());
  const WalshAverages averages(differences);
  test.pseudomedian = averages.median();
  test.interval = walsh_interval(averages, n, confidence);
  return test;
}

std::optional<TTest> paired_t(std::span<const double> differences, double confidence) {
  const Description d = describe(differences);
  if (!d.stddev || !(*d.stddev > 0)) return std::nullopt;
  const auto n = static_cast<double>(d.count);
  const double error = *d.stddev / std::sqrt(n);
  TTest test;
  test.difference = *d.mean;
  test.df = n - 1;
  test.t = test.difference / error;
  test.p_value = t_two_sided(test.t, test.df);
  const double reach = t_quantile((1 + confidence) / 2, test.df) * error;
  test.interval = {test.difference - reach, test.difference + reach, confidence};
  return test;
}

}  // namespace

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 2 || !all_finite(x) || !all_finite(y)) return std::nullopt;
  const Midranks rx = midranks(x), ry = midranks(y);
  const double middle = static_cast<double>(x.size() + 1) / 2;
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = rx.rank[i] - middle, b = ry.rank[i] - middle;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }
  if (!(xx > 0) || !(yy > 0)) return std::nullopt;
  return std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

std::optional<PairedTests> paired_tests(std::span<const double> before,
                                        std::span<const double> after, double confidence) {
  if (before.size() != after.size() || !some_finite(before) || !all_finite(after) ||
      !inside_unit(confidence)) {
    return std::nullopt;
  }
  std::vector<double> differences(before.size());
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = before[i] - after[i];
  if (!all_finite(differences)) return std::nullopt;
  PairedTests tests;
  tests.student = paired_t(differences, confidence);
  tests.sign = sign_test(differences);
  tests.signed_rank = signed_rank_test(differences, confidence);
  tests.spearman = spearman(before, after);
  return tests;
}

std::optional<PairedRatio> paired_ratio(std::span<const double> before,
                                        std::span<const double> after, double confidence) {
  if (before.size() != after.size() || !some_finite(before) || !all_finite(after) ||
      !inside_unit(confidence)) {
    return std::nullopt;
  }
  std::vector<double> logs(before.size());
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!(before[i] > 0) || !(after[i] > 0)) return std::nullopt;
    logs[i] = std::log(after[i]) - std::log(before[i]);
  }
  PairedRatio result;
  if (const std::optional<Interval> interval = median_interval(logs, confidence)) {
    result.interval =
        Interval{std::exp(interval->low), std::exp(interval->high), interval->confidence};
  }
  result.ratio = std::exp(median_in_place(logs));
  return result;
}

}  // namespace genscope::stats
