// Figures of one sample. All are O(n log n) from sorting, or O(n); Harrell-Davis adds n incomplete
// beta functions.
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {

std::optional<Interval> mean_interval(std::span<const double> samples, double confidence) {
  const Description d = describe(samples);
  if (!d.mean || !d.stddev || !inside_unit(confidence)) return std::nullopt;
  const auto n = static_cast<double>(d.count);
  const double reach = t_quantile((1 + confidence) / 2, n - 1) * (*d.stddev / std::sqrt(n));
  return Interval{*d.mean - reach, *d.mean + reach, confidence};
}

std::uint64_t least_for_median(double confidence) {
  if (!inside_unit(confidence)) return 0;
  // P(Bin(n, 1/2) < 1) = 2^-n; the slack keeps 0.75 at 3, where both are 1/8.
  const double tail = (1 - confidence) / 2;
  std::uint64_t n = 1;
  while (std::ldexp(1.0, -static_cast<int>(n)) > tail * (1 + 1e-12)) ++n;
  return n;
}

std::optional<MedianPlaces> median_places(std::uint64_t n, double confidence) {
  if (!inside_unit(confidence) || n < least_for_median(confidence)) return std::nullopt;
  const double tail = (1 - confidence) / 2 * (1 + 1e-12);
  const auto size = static_cast<double>(n);
  const auto below = [&](std::uint64_t k) {  // P(Bin < k)
    return binomial_cdf(static_cast<double>(k) - 1, size, 0.5);
  };
  std::uint64_t low = 1, high = n / 2 + 1;  // below(low) fits, below(high) does not
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (below(middle) <= tail ? low : high) = middle;
  }
  return MedianPlaces{low, n + 1 - low, 1 - 2 * below(low)};
}

std::optional<Interval> median_interval(std::span<const double> samples, double confidence) {
  if (!some_finite(samples)) return std::nullopt;
  const std::optional<MedianPlaces> places = median_places(samples.size(), confidence);
  if (!places) return std::nullopt;
  const std::vector<double> sorted = sorted_copy(samples);
  return Interval{sorted[places->low - 1], sorted[places->high - 1], places->confidence};
}

namespace {

// What each of n sorted samples weighs.
std::vector<double> make_weights(std::size_t count, double p) {
  const auto n = static_cast<double>(count);
  const double a = (n + 1) * p, b = (n + 1) * (1 - p);
  std::vector<double> weights(count);
  double reached = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double next = i + 1 == count ? 1 : beta_cdf(static_cast<double>(i + 1) / n, a, b);
    weights[i] = next - reached;
    reached = next;
  }
  return weights;
}

// A benchmark asks for the same n and p once for each of its metrics, and each weight takes an
// incomplete beta function: the last few lists are kept, per thread.
std::vector<double> weights_of(std::size_t count, double p) {
  constexpr std::size_t kMostKept = 10'000;
  struct Kept {
    double p = 0;
    std::vector<double> weights;
  };
  thread_local std::array<Kept, 4> kept;
  thread_local std::size_t oldest = 0;
  for (const Kept& one : kept) {
    if (one.p == p && one.weights.size() == count) return one.weights;
  }
  std::vector<double> weights = make_weights(count, p);
  if (count <= kMostKept) kept[oldest++ % kept.size()] = {p, weights};
  return weights;
}

}  // namespace

std::optional<double> harrell_davis(std::span<const double> samples, double p) {
  if (!some_finite(samples) || !inside_unit(p)) return std::nullopt;
  const std::vector<double> sorted = sorted_copy(samples);
  const std::vector<double> weights = weights_of(sorted.size(), p);
  // Around the first value, so that an offset costs no digits.
  double sum = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) sum += weights[i] * (sorted[i] - sorted.front());
  return if_finite(sorted.front() + sum);
}

std::optional<double> geometric_mean(std::span<const double> samples) {
  if (!some_finite(samples)) return std::nullopt;
  std::vector<double> logs;
  logs.reserve(samples.size());
  for (const double value : samples) {
    if (!(value > 0)) return std::nullopt;
    logs.push_back(std::log(value));
  }
  return std::exp(*describe(logs).mean);
}

std::optional<double> autocorrelation(std::span<const double> samples) {
  const Description d = describe(samples);
  if (d.count < 2 || !d.mean || !d.stddev || !(*d.stddev > 0)) return std::nullopt;
  double together = 0, all = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double here = (samples[i] - *d.mean) / *d.stddev;
    all += here * here;
    if (i > 0) together += here * ((samples[i - 1] - *d.mean) / *d.stddev);
  }
  return together / all;
}

std::optional<double> effective_count(std::span<const double> samples) {
  const std::optional<double> r = autocorrelation(samples);
  if (!r || *r <= -1) return std::nullopt;
  return static_cast<double>(samples.size()) * (1 - *r) / (1 + *r);
}

std::optional<double> loadgen_percentile(std::span<const double> samples, double p) {
  if (!some_finite(samples) || !(p >= 0 && p <= 1)) return std::nullopt;
  std::vector<double> values(samples.begin(), samples.end());
  const auto place =
      std::min(values.size() - 1, static_cast<std::size_t>(static_cast<double>(values.size()) * p));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::optional<TukeyFences> tukey_fences(std::span<const double> samples) {
  const Description d = describe(samples);
  if (!d.q25 || !d.q75 || !d.iqr) return std::nullopt;
  TukeyFences f;
  f.severe_low = *d.q25 - 3 * *d.iqr;
  f.mild_low = *d.q25 - 1.5 * *d.iqr;
  f.mild_high = *d.q75 + 1.5 * *d.iqr;
  f.severe_high = *d.q75 + 3 * *d.iqr;
  for (const double value : samples) {
    if (value < f.severe_low) {
      ++f.severe_below;
    } else if (value < f.mild_low) {
      ++f.mild_below;
    } else if (value > f.severe_high) {
      ++f.severe_above;
    } else if (value > f.mild_high) {
      ++f.mild_above;
    }
  }
  return f;
}

std::optional<Line> least_squares(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < 2 || !all_finite(x) || !all_finite(y)) return std::nullopt;
  const double mean_x = *describe(x).mean, mean_y = *describe(y).mean;
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  if (!(xx > 0) || !std::isfinite(xx) || !std::isfinite(yy)) return std::nullopt;
  Line line;
  line.slope = xy / xx;
  line.intercept = mean_y - line.slope * mean_x;
  if (yy > 0) line.r2 = std::min(1.0, xy / xx * (xy / yy));
  if (x.size() > 2) {
    double rest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double off = (y[i] - mean_y) - line.slope * (x[i] - mean_x);
      rest += off * off;
    }
    line.slope_error = std::sqrt(rest / static_cast<double>(x.size() - 2) / xx);
  }
  return line;
}

}  // namespace genscope::stats
