// Theil-Sen's slope and Mann-Kendall's test ask the same of all pairs: does y rise with x?
//
// Discordant pairs are inversions of y once the points are sorted by x, so merge sort counts them
// in O(n log n) (Knight), with the ties taken off. Slopes at the places that the median and Sen's
// interval need come from Slopes, which never lists all pairs of a long series (slopes.cc).
//
// S is approximately normal under "no trend" with a variance corrected for ties; Sen's interval
// uses the same S to say how many slopes from the middle its ends are. So interval and p-value
// nearly agree: they differ by the continuity correction and by how ties in both x and y count.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "analyze/statistics/inversions.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/order.h"
#include "analyze/statistics/slopes.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

constexpr std::size_t kMostPoints = std::size_t{1} << 31;

// Sums over the groups of t equal values in a sorted sequence.
struct Ties {
  std::uint64_t pairs = 0;  // t (t - 1) / 2
  double triples = 0;       // t (t - 1) (t - 2)
  double spread = 0;        // t (t - 1) (2 t + 5)

  template <class T, class Same>
  Ties(std::span<const T> sorted, Same same) {
    for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
      while (end < sorted.size() && same(sorted[begin], sorted[end])) ++end;
      const std::uint64_t size = end - begin;
      const auto t = static_cast<double>(size);
      pairs += size * (size - 1) / 2;
      triples += t * (t - 1) * (t - 2);
      spread += t * (t - 1) * (2 * t + 5);
    }
  }
};

// Mann-Kendall: S = concordant - discordant pairs, and its variance without any trend.
struct Concordance {
  double s = 0;
  double variance = 0;
  double sen_variance = 0;  // as Sen's interval has it: without the terms of ties in both
  double tau = 0;
  std::uint64_t slopes = 0;  // pairs with different x
};

// Knight's method: discordant pairs are inversions of y in the order of (x, y). O(n log n).
Concordance concordance(std::span<const Point> points) {
  std::vector<double> y(points.size()), scratch;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = points[i].y;
  const std::uint64_t discordant = sort_counting(std::span(y), scratch, std::less<double>());
  const Ties in_y(std::span<const double>(y), [](double a, double b) { return a == b; });
  const Ties in_x(points, [](const Point& a, const Point& b) { return a.x == b.x; });
  const Ties in_both(points,
                     [](const Point& a, const Point& b) { return a.x == b.x && a.y == b.y; });

  Concordance c;
  const std::uint64_t n = points.size(), pairs = n * (n - 1) / 2;
  c.slopes = pairs - in_x.pairs;
  const std::uint64_t ordered = c.slopes - (in_y.pairs - in_both.pairs);  // neither tied
  c.s = static_cast<double>(ordered - discordant) - static_cast<double>(discordant);
  const auto size = static_cast<double>(n), m = size * (size - 1);
  c.sen_variance = (m * (2 * size + 5) - in_x.spread - in_y.spread) / 18;
  c.variance = c.sen_variance +
               2 * static_cast<double>(in_x.pairs) * static_cast<double>(in_y.pairs) / m +
               in_x.triples * in_y.triples / (9 * m * (size - 2));
  const double both = static_cast<double>(c.slopes) * static_cast<double>(pairs - in_y.pairs);
  if (both > 0) c.tau = c.s / std::sqrt(both);
  return c;
}

double p_value(const Concordance& c) noexcept {
  if (!(c.variance > 0) || c.s == 0) return 1;
  return std::min(1.0, 2 * normal_cdf(-(std::fabs(c.s) - 1) / std::sqrt(c.variance)));
}

// Places, from 0, of the interval's ends and the two middle slopes, ascending.
std::array<std::uint64_t, 4> places_of(const Concordance& c, double confidence) noexcept {
  const auto slopes = static_cast<double>(c.slopes);
  const double reach =
      -normal_quantile((1 - confidence) / 2) * std::sqrt(std::max(0.0, c.sen_variance));
  const double low = std::nearbyint((slopes - reach) / 2) - 1;
  const double high = std::nearbyint((slopes + reach) / 2);
  const std::uint64_t lower_middle = (c.slopes - 1) / 2, upper_middle = c.slopes / 2;
  const std::uint64_t first = low > 0 ? static_cast<std::uint64_t>(low) : 0;
  const std::uint64_t last = high < slopes - 1 ? static_cast<std::uint64_t>(high) : c.slopes - 1;
  return {std::min(first, lower_middle), lower_middle, upper_middle, std::max(last, upper_middle)};
}

double intercept_of(std::span<const Point> points, double slope) {
  std::vector<double> residuals(points.size());
  std::transform(points.begin(), points.end(), residuals.begin(),
                 [&](const Point& p) { return std::fma(-slope, p.x, p.y); });
  return median_in_place(residuals);
}

// Sorted by x, then y; empty if there is no answer for them.
std::vector<Point> points_of(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 3 || x.size() > kMostPoints) return {};
  if (!all_finite(x) || !all_finite(y)) return {};
  std::vector<Point> points(x.size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = {x[i], y[i]};
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  return points;
}

}  // namespace

std::optional<MannKendall> mann_kendall(std::span<const double> x, std::span<const double> y) {
  const std::vector<Point> points = points_of(x, y);
  if (points.empty()) return std::nullopt;
  const Concordance c = concordance(points);
  MannKendall result{c.s, c.variance, 0};
  if (c.variance > 0 && c.s != 0) {
    result.z = std::copysign(std::fabs(c.s) - 1, c.s) / std::sqrt(c.variance);
  }
  return result;
}

std::optional<Trend> trend(std::span<const double> x, std::span<const double> y,
                           double confidence) {
  if (!(confidence > 0 && confidence < 1)) return std::nullopt;
  const std::vector<Point> points = points_of(x, y);
  if (points.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(y.begin(), y.end());
  if (points.front().x == points.back().x) return std::nullopt;
  if (!std::isfinite(points.back().x - points.front().x) || !std::isfinite(*most - *least)) {
    return std::nullopt;
  }

  const Concordance c = concordance(points);
  const std::vector<double> slopes = Slopes(points, c.slopes).at(places_of(c, confidence));
  Trend result;
  result.slope = std::midpoint(slopes[1], slopes[2]);
  result.low = std::min(slopes[0], result.slope);  // equal slopes may differ by their rounding
  result.high = std::max(slopes[3], result.slope);
  result.intercept = intercept_of(points, result.slope);
  result.p_value = p_value(c);
  result.tau = c.tau;
  const std::array<double, 4> figures{result.low, result.slope, result.high, result.intercept};
  if (!all_finite(figures)) return std::nullopt;
  return result;
}

}  // namespace genscope::stats
