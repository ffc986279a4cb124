// Two ideas of "far away", for two questions.
//
// Of a bag of samples: the modified z-score. Median and MAD do not move for outliers as mean and
// deviation do, up to half of the samples. Where more than half are equal the MAD is 0 and would
// make an outlier of everything else: then the mean absolute deviation of the others takes its
// place, less the sample's own part, so that one departure alone is infinitely far, and the steps
// of a coarse clock are not.
//
// Of a series in time: Hampel's filter. A level may drift, so each sample is held against the
// median of its own window, kept sorted while it slides: O(n w) for a window of w, which is small.
// Sigma is one for the whole series, from the differences of neighbours: a step of the level is one
// large difference among n and does not widen it, as it would widen the deviation of the samples.
#include "analyze/statistics/outliers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

// Of a normal distribution, in sigmas.
constexpr double kMedianDeviation = 0.6745;  // as Iglewicz and Hoaglin have it
constexpr double kMedianDeviationExact = 0.67448975019608174320;
constexpr double kMeanDeviation = 0.79788456080286535588;  // sqrt(2 / pi)

double running_mean(std::span<const double> deviations) noexcept {
  double mean = 0;  // running: a sum could overflow
  double seen = 0;
  for (const double d : deviations) mean += (d - mean) / ++seen;
  return mean;
}

// Sorted values of a window that slides over a series.
class Window {
 public:
  void enter(double value) {
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
  }
  void leave(double value) {
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), value));
  }
  double median() const noexcept {
    const std::size_t n = sorted_.size();
    return std::midpoint(sorted_[(n - 1) / 2], sorted_[n / 2]);
  }

 private:
  std::vector<double> sorted_;
};

// Calls found(place, median of its window) for each place that hampel_outliers() names.
template <class Found>
void walk_hampel(std::span<const double> samples, std::size_t half_window, double limit,
                 Found found) {
  const std::size_t n = samples.size();
  if (n < 3 || half_window == 0 || !all_finite(samples)) return;
  const double sigma = sigma_of_differences(samples);
  Window window;
  for (std::size_t next = 0; next < std::min(half_window, n); ++next) window.enter(samples[next]);
  for (std::size_t i = 0; i < n; ++i) {
    if (half_window < n - i) window.enter(samples[i + half_window]);
    if (i > half_window) window.leave(samples[i - half_window - 1]);
    const double median = window.median();
    if (std::fabs(samples[i] - median) > limit * sigma) found(i, median);
  }
}

}  // namespace

std::vector<double> modified_z(std::span<const double> samples) {
  std::vector<double> scratch(samples.begin(), samples.end());
  const double median = median_in_place(scratch);
  std::vector<double> z(samples.size());
  std::transform(samples.begin(), samples.end(), z.begin(), [&](double x) { return x - median; });
  std::transform(z.begin(), z.end(), scratch.begin(), [](double d) { return std::fabs(d); });
  const double mad = median_in_place(scratch);
  if (mad > 0) {
    for (double& value : z) value = kMedianDeviation * (value / mad);
    return z;
  }
  const auto n = static_cast<double>(z.size());
  const double mean = running_mean(scratch);
  const double departures =
      static_cast<double>(std::count_if(z.begin(), z.end(), [](double d) { return d != 0; }));
  for (double& value : z) {
    if (value == 0) continue;
    // The mean of all, less this one's part: exactly 0 if it is the only departure.
    const double others =
        departures > 1 ? std::max(0.0, mean * (n / (n - 1)) - std::fabs(value) / (n - 1)) : 0;
    value = others > 0 ? kMeanDeviation * (value / others)
                       : std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return z;
}

double sigma_of_differences(std::span<const double> samples) {
  std::vector<double> differences(samples.size() - 1);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i] = std::fabs(samples[i + 1] - samples[i]);
  }
  const double median = median_in_place(differences);
  if (median > 0) return median / (std::numbers::sqrt2 * kMedianDeviationExact);
  return running_mean(differences) / (std::numbers::sqrt2 * kMeanDeviation);
}

std::vector<std::size_t> modified_z_outliers(std::span<const double> samples, double limit) {
  std::vector<std::size_t> places;
  if (samples.empty() || !all_finite(samples)) return places;
  const std::vector<double> z = modified_z(samples);
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (std::fabs(z[i]) > limit) places.push_back(i);
  }
  return places;
}

std::vector<std::size_t> hampel_outliers(std::span<const double> samples, std::size_t half_window,
                                         double limit) {
  std::vector<std::size_t> places;
  walk_hampel(samples, half_window, limit, [&](std::size_t i, double) { places.push_back(i); });
  return places;
}

std::vector<double> hampel_filter(std::span<const double> samples, std::size_t half_window,
                                  double limit) {
  std::vector<double> filtered(samples.begin(), samples.end());
  walk_hampel(samples, half_window, limit,
              [&](std::size_t i, double median) { filtered[i] = median; });
  return filtered;
}

}  // namespace genscope::stats
