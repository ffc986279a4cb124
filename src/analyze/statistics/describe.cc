#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

// Neumaier's sum of f(value): the error does not grow with the number of values.
template <class Function>
double compensated_sum(std::span<const double> values, Function f) noexcept {
  double sum = 0, correction = 0;
  for (const double value : values) {
    const double term = f(value);
    const double next = sum + term;
    correction += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  return sum + correction;
}

// A power of two that brings the largest magnitude near 1, so that neither sums nor squares leave
// the range; multiplying by it loses nothing that counts beside that magnitude.
double scale_for(std::span<const double> sorted) noexcept {
  const double largest = std::max(std::fabs(sorted.front()), std::fabs(sorted.back()));
  if (largest == 0) return 1;
  return std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
}

double mean_of(std::span<const double> sorted) noexcept {
  const double scale = scale_for(sorted);
  const double sum = compensated_sum(sorted, [&](double v) { return v * scale; });
  const double mean = sum / static_cast<double>(sorted.size()) / scale;
  return std::clamp(mean, sorted.front(), sorted.back());
}

// Two passes: the squares are those of small deviations, not of the values.
double stddev_of(std::span<const double> sorted, double mean) noexcept {
  const double scale = scale_for(sorted);
  const double center = mean * scale;
  const double squares = compensated_sum(sorted, [&](double v) {
    const double deviation = v * scale - center;
    return deviation * deviation;
  });
  const double rest = compensated_sum(sorted, [&](double v) { return v * scale - center; });
  const auto n = static_cast<double>(sorted.size());
  return std::sqrt(std::max(0.0, squares - rest * rest / n) / (n - 1)) / scale;
}

}  // namespace

Description describe(std::span<const double> samples) {
  Description d;
  d.count = samples.size();
  if (samples.empty() || !all_finite(samples)) return d;
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  const std::span<const double> sorted(values);
  const std::size_t n = sorted.size();

  d.min = sorted.front();
  d.max = sorted.back();
  d.mean = mean_of(sorted);
  const std::size_t left_out = n / 10;
  d.trimmed_mean = mean_of(sorted.subspan(left_out, n - 2 * left_out));
  const auto last = static_cast<double>(n - 1);
  d.q25 = at_position(sorted, 0.25 * last);
  d.median = at_position(sorted, 0.5 * last);
  d.q75 = at_position(sorted, 0.75 * last);
  d.iqr = if_finite(*d.q75 - *d.q25);
  if (n >= 2) {
    d.stddev = if_finite(stddev_of(sorted, *d.mean));
    if (d.stddev && *d.mean != 0) d.cv = if_finite(*d.stddev / std::fabs(*d.mean));
  }
  for (double& value : values) value = std::fabs(value - *d.median);
  d.mad = if_finite(median_in_place(values));
  return d;
}

}  // namespace genscope::stats
