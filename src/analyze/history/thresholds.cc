// One new value against history, and Perfherder's windows. O(n) but for medians; the windows cost
// O(back + fore) a place.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/distributions/distributions.h"
#include "analyze/history/change_points.h"
#include "analyze/inference/checks.h"
#include "analyze/statistics/normal.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

struct WeightedSide {
  double mean = 0, variance = 0, n = 0;
};

// `at(i)`: the i-th value from the split outwards, weight (n - i) / n. The variance is that of all
// alike, around the weighted mean.
template <class At>
WeightedSide weighted_side(std::size_t n, At at) {
  WeightedSide side;
  side.n = static_cast<double>(n);
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = static_cast<double>(n - i) / side.n;
    sum += weight * (at(i) - at(0));
    weights += weight;
  }
  side.mean = at(0) + sum / weights;
  for (std::size_t i = 0; i < n; ++i) {
    side.variance += (at(i) - side.mean) * (at(i) - side.mean);
  }
  side.variance = n > 1 ? side.variance / (side.n - 1) : 0;
  return side;
}

double windowed_t(const WeightedSide& a, const WeightedSide& b) {
  const double difference = std::fabs(b.mean - a.mean);
  if (difference == 0) return 0;
  const double error = std::sqrt(a.variance / a.n + b.variance / b.n);
  return error > 0 ? difference / error : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<std::size_t> windowed_t_changes(std::span<const double> series, double limit,
                                            std::size_t back, std::size_t fore) {
  std::vector<std::size_t> changes;
  const std::size_t n = series.size();
  if (n < 2 || !all_finite(series) || back == 0 || fore == 0) return changes;
  std::vector<double> t(n, 0);
  std::size_t since = 0;  // places since t was last above the limit
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t behind = std::min(i, std::min(std::max(since, back), 2 * back));
    const std::size_t ahead = std::min(fore, n - i);
    t[i] = windowed_t(weighted_side(behind, [&](std::size_t k) { return series[i - 1 - k]; }),
                      weighted_side(ahead, [&](std::size_t k) { return series[i + k]; }));
    since = t[i] > limit ? 0 : since + 1;
  }
  for (std::size_t i = back; i + fore <= n; ++i) {
    const bool peak = !(t[i - 1] > t[i]) && !(i + 1 < n && t[i + 1] > t[i]);
    if (t[i] > limit && peak) changes.push_back(i);
  }
  return changes;
}

std::optional<Bounds> prediction_bounds(std::size_t n, double mean, double sd, double cumulative) {
  if (n < 2 || !std::isfinite(mean) || !(sd >= 0) || !inside_unit(cumulative)) return std::nullopt;
  const auto size = static_cast<double>(n);
  const double reach = t_quantile(cumulative, size - 1) * sd * std::sqrt(1 + 1 / size);
  return Bounds{mean - reach, mean + reach};
}

std::optional<Bounds> prediction_bounds(std::span<const double> history, double cumulative) {
  const Description d = describe(history);
  if (!d.stddev) return std::nullopt;
  return prediction_bounds(d.count, *d.mean, *d.stddev, cumulative);
}

std::optional<Bounds> robust_bounds(std::span<const double> history, double cumulative) {
  constexpr double kSigmasPerMad = 1.4826;
  const Description d = describe(history);
  if (!d.median || !d.mad || d.count < 2) return std::nullopt;
  if (*d.mad == 0) return prediction_bounds(history, cumulative);
  return prediction_bounds(d.count, *d.median, kSigmasPerMad * *d.mad, cumulative);
}

std::optional<Bounds> normal_bounds(double mean, double sd, double cumulative) {
  if (!std::isfinite(mean) || !(sd >= 0) || !inside_unit(cumulative)) return std::nullopt;
  const double reach = normal_quantile(cumulative) * sd;
  return Bounds{mean - reach, mean + reach};
}

std::optional<Bounds> quartile_bounds(double median, double iqr, double multiple) {
  if (!std::isfinite(median) || !(iqr >= 0) || !(multiple >= 0)) return std::nullopt;
  return Bounds{median - multiple * iqr, median + multiple * iqr};
}

}  // namespace genscope::stats
