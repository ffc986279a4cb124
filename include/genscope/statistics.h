// Statistics that reports, comparisons and benchmarks share. Pure, deterministic, no allocation but
// of their results; each says its method, because "p95" alone does not define a number.
//
// Samples need not be sorted. NaN is never a sample: callers leave out what was not measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace genscope::stats {

enum class QuantileMethod : std::uint8_t {
  nearest_rank,     // the smallest sample with at least p of all at or below it: always a sample
  linear,           // Hyndman and Fan 7: numpy's and R's default
  median_unbiased,  // Hyndman and Fan 8
};
// 0 <= p <= 1; nothing without samples.
std::optional<double> quantile(std::span<const double> samples, double p,
                               QuantileMethod method = QuantileMethod::linear);

// What one column of numbers looks like. Absent where the samples are too few.
struct Description {
  std::size_t count = 0;
  std::optional<double> min, max, mean, median, q25, q75, iqr;
  std::optional<double> stddev;        // sample: n - 1
  std::optional<double> cv;            // stddev / |mean|
  std::optional<double> mad;           // median absolute deviation, not scaled
  std::optional<double> trimmed_mean;  // 10 % at each end left out
};
Description describe(std::span<const double> samples);

// A location difference of two independent samples, after minus before.
struct Shift {
  double estimate = 0;       // Hodges-Lehmann: the median of all pairwise differences
  double low = 0, high = 0;  // distribution-free interval from the Mann-Whitney statistic
  double confidence = 0;     // what it reaches: at least what was asked for if the samples allow
  double p_value = 1;        // two-sided Mann-Whitney, exact for small samples without ties
  double effect = 0;         // Cliff's delta, -1 to 1
};
std::optional<Shift> shift(std::span<const double> before, std::span<const double> after,
                           double confidence = 0.95);

// Robust slope over an index or time: Theil-Sen with an interval, and Mann-Kendall's test.
struct Trend {
  double slope = 0, intercept = 0;  // per unit of x
  double low = 0, high = 0;
  double p_value = 1;
  double tau = 0;
};
std::optional<Trend> trend(std::span<const double> x, std::span<const double> y,
                           double confidence = 0.95);

// Places of outliers: |0.6745 (x - median) / MAD| above `limit` (Iglewicz and Hoaglin); where the
// MAD is 0 the mean absolute deviation takes its place.
std::vector<std::size_t> modified_z_outliers(std::span<const double> samples, double limit = 3.5);
// Places that are far from the median of the window of 2k+1 around them (Hampel).
std::vector<std::size_t> hampel_outliers(std::span<const double> samples, std::size_t half_window,
                                         double limit = 3.0);

// Counts of values in buckets of 1 % relative width: quantiles of streams of any length, merged
// across threads, ranks and runs. The error of quantile() is at most 1 % of its value.
class Histogram {
 public:
  void add(double value, std::uint64_t count = 1) noexcept;  // not finite: counted apart
  void merge(const Histogram& other);
  std::uint64_t count() const noexcept;
  std::optional<double> quantile(double p) const;                // nearest rank
  std::optional<double> min() const, max() const, mean() const;  // exact
  std::size_t bytes() const noexcept;

 private:
  std::vector<std::uint64_t> buckets_, negative_;
  int first_ = 0, negative_first_ = 0;  // bucket numbers of the first entries
  std::uint64_t zeros_ = 0, count_ = 0, odd_ = 0;
  double min_ = 0, max_ = 0, sum_ = 0;
};

}  // namespace genscope::stats
