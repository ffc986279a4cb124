// Two tests that see any difference of distributions, not only of location.
//
// Kolmogorov-Smirnov: p counts the lattice paths from (0, 0) to (m, n) that never leave the band
// |i / m - j / n| < D, looked at only where a group of ties ends (Schroer and Trenkler 1995).
// O(n m) time, O(n) memory; counts are scaled to probabilities as they go.
//
// Cramer-von Mises: the exact distribution by Xiao's recursion (2007) over the same lattice, a
// sorted table of value and frequency at each point: forced by the definition, some million
// entries at 20 against 20. Beyond, Anderson and Darling's limit as a series of Bessel functions.
#include <cmath>
#include <numbers>
#include <numeric>

#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"

namespace genscope::stats {
namespace {

constexpr double kExactPaths = 10'000;    // n m, as R's ks.test
constexpr std::size_t kExactCramer = 20;  // samples a side, as scipy

struct Joined {
  std::vector<double> values;  // of both, sorted
  double distance = 0;         // largest |i / m - j / n|
  std::vector<bool> ends;      // [i + j]: after i + j values, no tie goes on
};

Joined join(const std::vector<double>& x, const std::vector<double>& y) {
  Joined joined;
  const std::size_t all = x.size() + y.size();
  joined.values.resize(all);
  std::merge(x.begin(), x.end(), y.begin(), y.end(), joined.values.begin());
  joined.ends.assign(all + 1, true);
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
  std::size_t i = 0, j = 0;
  for (std::size_t seen = 1; seen <= all; ++seen) {
    const double value = joined.values[seen - 1];
    joined.ends[seen] = seen == all || joined.values[seen] != value;
    if (!joined.ends[seen]) continue;
    while (i < x.size() && x[i] <= value) ++i;
    while (j < y.size() && y[j] <= value) ++j;
    joined.distance = std::max(joined.distance,
                               std::fabs(static_cast<double>(i) / m - static_cast<double>(j) / n));
  }
  return joined;
}

// P(D >= distance) over all orders of these values.
double smirnov_exact(const Joined& joined, std::size_t m, std::size_t n) {
  const auto dm = static_cast<double>(m), dn = static_cast<double>(n);
  // As R: distances are multiples of 1 / (m n); half a step keeps rounding out.
  const double q = (0.5 + std::floor(joined.distance * dm * dn - 1e-7)) / (dm * dn);
  const auto outside = [&](std::size_t i, std::size_t j) {
    return joined.ends[i + j] &&
           std::fabs(static_cast<double>(i) / dm - static_cast<double>(j) / dn) >= q;
  };
  // p[j]: share of the paths to (i, j) that have been outside. Exact shares, never a difference.
  std::vector<double> p(n + 1, 0);
  for (std::size_t j = 1; j <= n; ++j) p[j] = outside(0, j) ? 1 : p[j - 1];
  for (std::size_t i = 1; i <= m; ++i) {
    if (outside(i, 0)) p[0] = 1;
    for (std::size_t j = 1; j <= n; ++j) {
      const double v = static_cast<double>(i) / static_cast<double>(i + j);
      p[j] = outside(i, j) ? 1 : v * p[j] + (1 - v) * p[j - 1];
    }
  }
  return std::clamp(p[n], 0.0, 1.0);
}

double smirnov_limit(double distance, double m, double n) {
  const double z = distance * std::sqrt(m * n / (m + n));
  if (z < 0.2) return 1;
  double sum = 0;
  for (int k = 1; k < 1000; ++k) {
    const double term = std::exp(-2.0 * k * k * z * z);
    sum += k % 2 == 1 ? term : -term;
    if (term < 1e-18) break;
  }
  return std::clamp(2 * sum, 0.0, 1.0);
}

// m sum (r_i - i)^2 + n sum (s_j - j)^2 over midranks.
double cramer_u(const std::vector<double>& x, const std::vector<double>& y,
                const std::vector<double>& all) {
  const auto part = [&](const std::vector<double>& side) {
    double sum = 0;
    for (std::size_t i = 0; i < side.size(); ++i) {
      const auto [first, last] = std::equal_range(all.begin(), all.end(), side[i]);
      const auto before = static_cast<double>(first - all.begin());
      const auto through = static_cast<double>(last - all.begin());
      const double off = (before + 1 + through) / 2 - static_cast<double>(i + 1);
      sum += off * off;
    }
    return sum * static_cast<double>(side.size());
  };
  return part(x) + part(y);
}

double cramer_exact(double u, std::size_t m, std::size_t n) {
  const auto common = static_cast<std::int64_t>(std::lcm(m, n));
  const std::int64_t a = common / static_cast<std::int64_t>(m),
                     b = common / static_cast<std::int64_t>(n);
  const double pairs = static_cast<double>(m) * static_cast<double>(n);
  const double scale =
      static_cast<double>(common) * static_cast<double>(common) * static_cast<double>(m + n);
  const double least = std::floor(scale * (6 * u - pairs * (4 * pairs - 1)) / (6 * pairs * pairs));
  using Table = std::vector<std::pair<std::int64_t, double>>;  // value, probability; ascending
  const auto merged = [](const Table& p, double share_p, const Table& q, double share_q,
                         std::int64_t step) {
    Table out;
    out.reserve(p.size() + q.size());
    std::size_t i = 0, j = 0;
    while (i < p.size() || j < q.size()) {
      if (j == q.size() || (i < p.size() && p[i].first < q[j].first)) {
        out.emplace_back(p[i].first + step, p[i].second * share_p);
        ++i;
      } else if (i == p.size() || q[j].first < p[i].first) {
        out.emplace_back(q[j].first + step, q[j].second * share_q);
        ++j;
      } else {
        out.emplace_back(p[i].first + step, p[i].second * share_p + q[j].second * share_q);
        ++i, ++j;
      }
    }
    return out;
  };
  // row[v]: the sums of (a v - b w)^2 along the paths to (v, w), each path equally likely.
  std::vector<Table> row(m + 1);
  for (std::size_t w = 0; w <= n; ++w) {
    for (std::size_t v = 0; v <= m; ++v) {
      const std::int64_t off = a * static_cast<std::int64_t>(v) - b * static_cast<std::int64_t>(w);
      if (v == 0 && w == 0) {
        row[0] = {{0, 1.0}};
        continue;
      }
      const double from_v = static_cast<double>(v) / static_cast<double>(v + w);
      static const Table kNothing;
      row[v] = merged(w > 0 ? row[v] : kNothing, 1 - from_v, v > 0 ? row[v - 1] : kNothing, from_v,
                      off * off);
    }
  }
  double p = 0;
  for (auto entry = row[m].rbegin(); entry != row[m].rend(); ++entry) {
    if (static_cast<double>(entry->first) < least) break;
    p += entry->second;
  }
  return std::min(1.0, p);
}

double cramer_limit_cdf(double x) {
  constexpr double kLastTerm = 1e-7;  // as scipy: the next one is some 1e-12
  double sum = 0;
  for (int k = 0; k < 1000; ++k) {
    const double y = 4 * k + 1, q = y * y / (16 * x);
    const double front = std::exp(std::lgamma(k + 0.5) - std::lgamma(k + 1.0)) /
                         (std::numbers::pi * std::sqrt(std::numbers::pi) * std::sqrt(x));
    // Far beyond 600 exp(-q) is 0, and the Bessel function too.
    const double term =
        q > 600 ? 0 : front * std::sqrt(y) * std::exp(-q) * std::cyl_bessel_k(0.25, q);
    sum += term;
    if (term < kLastTerm) break;
  }
  return sum;
}

double cramer_limit(double t, double m, double n) {
  const double all = m + n, pairs = m * n;
  const double mean = (1 + 1 / all) / 6;
  const double variance = (all + 1) * (4 * pairs * all - 3 * (m * m + n * n) - 2 * pairs) /
                          (45 * all * all * 4 * pairs);
  const double standard = 1.0 / 6 + (t - mean) / std::sqrt(45 * variance);
  if (standard < 0.003) return 1;
  return std::clamp(1 - cramer_limit_cdf(standard), 0.0, 1.0);
}

}  // namespace

std::optional<DistributionTest> kolmogorov_smirnov(std::span<const double> before,
                                                   std::span<const double> after) {
  if (!some_finite(before) || !some_finite(after)) return std::nullopt;
  const Joined joined = join(sorted_copy(before), sorted_copy(after));
  const auto m = static_cast<double>(before.size()), n = static_cast<double>(after.size());
  DistributionTest test;
  test.statistic = joined.distance;
  test.exact = m * n <= kExactPaths;
  if (joined.distance == 0) return test;
  test.p_value = test.exact ? smirnov_exact(joined, before.size(), after.size())
                            : smirnov_limit(joined.distance, m, n);
  return test;
}

std::optional<DistributionTest> cramer_von_mises(std::span<const double> before,
                                                 std::span<const double> after) {
  if (before.size() < 2 || after.size() < 2 || !all_finite(before) || !all_finite(after)) {
    return std::nullopt;
  }
  const std::vector<double> x = sorted_copy(before), y = sorted_copy(after);
  std::vector<double> all(x.size() + y.size());
  std::merge(x.begin(), x.end(), y.begin(), y.end(), all.begin());
  const auto m = static_cast<double>(x.size()), n = static_cast<double>(y.size());
  const double u = cramer_u(x, y, all), pairs = m * n;
  DistributionTest test;
  test.statistic = u / (pairs * (m + n)) - (4 * pairs - 1) / (6 * (m + n));
  test.exact = std::max(x.size(), y.size()) <= kExactCramer;
  test.p_value =
      test.exact ? cramer_exact(u, x.size(), y.size()) : cramer_limit(test.statistic, m, n);
  return test;
}

}  // namespace genscope::stats
