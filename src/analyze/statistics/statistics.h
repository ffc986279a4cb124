// Statistics that reports, comparisons and benchmarks share: pure functions and one accumulator,
// the same result on every machine and at every call. Each says its method, because "p95" alone
// does not define a number; docs/statistics.md has the formulas and what they were checked against.
//
// Samples need not be sorted. They are finite: callers leave out what was not measured, and a NaN
// or an infinity among the samples gives no answer (nothing, absent fields, no outliers) instead of
// a wrong one. The functions copy the samples, and take no other memory that grows with them unless
// they say so. Any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace genscope::stats {

enum class QuantileMethod : std::uint8_t {
  nearest_rank,     // the smallest sample with at least p of all at or below it: always a sample
  linear,           // Hyndman and Fan 7: numpy's and R's default
  median_unbiased,  // Hyndman and Fan 8
  weibull,          // Hyndman and Fan 6: Minitab's and SPSS's
};
// 0 <= p <= 1, else nothing; nothing without samples. O(n).
std::optional<double> quantile(std::span<const double> samples, double p,
                               QuantileMethod method = QuantileMethod::linear);

// What one column of numbers looks like. Absent where the samples are too few, where the field has
// no meaning (cv of mean 0), or where it is beyond the range of a double.
struct Description {
  std::size_t count = 0;
  std::optional<double> min, max, mean, median;
  std::optional<double> q25, q75, iqr;  // QuantileMethod::linear
  std::optional<double> stddev;         // sample: n - 1; from two samples on
  std::optional<double> cv;             // stddev / |mean|
  std::optional<double> mad;            // median absolute deviation, not scaled
  std::optional<double> trimmed_mean;   // n / 10 samples, rounded down, left out at each end
};
// O(n log n). The mean is compensated and the deviation takes two passes: neither overflows, nor
// loses digits to a large offset.
Description describe(std::span<const double> samples);

// A location difference of two independent samples, after minus before.
struct Shift {
  double estimate = 0;       // Hodges-Lehmann: the median of all pairwise differences
  double low = 0, high = 0;  // distribution-free interval from the Mann-Whitney statistic
  double confidence = 0;     // what it reaches: at least what was asked for if the samples allow
  double p_value = 1;        // two-sided Mann-Whitney, twice the smaller tail
  double effect = 0;         // Cliff's delta, -1 to 1: P(after > before) - P(after < before)
};
// Estimate and interval are always exact: the order statistics of the n * m differences are found
// by bisection over the doubles, without listing them; O((n + m) log(n + m)), at most 2^31 samples
// a side. The p-value is exact, ties included, up to kExactPairs pairs, the interval's rank too
// (under ties it covers more than it says); above, both use the normal approximation, the p-value
// with corrections for ties and continuity. At the limit the exact distribution costs some 25
// million additions and 3 MB.
//
// Nothing if a side is empty or `confidence` is not between 0 and 1. With 3 against 3 samples no
// p-value is below 0.1 and no interval reaches 95 %: look at `confidence`.
std::optional<Shift> shift(std::span<const double> before, std::span<const double> after,
                           double confidence = 0.95);
inline constexpr std::uint64_t kExactPairs = 2500;  // e.g. 50 runs against 50

// Robust slope over an index or time: Theil-Sen with an interval, and Mann-Kendall's test.
struct Trend {
  double slope = 0;          // median slope of all pairs with different x, per unit of x
  double intercept = 0;      // median of y - slope * x
  double low = 0, high = 0;  // Sen's interval of the slope; rough below n = 10
  double p_value = 1;        // two-sided Mann-Kendall, corrected for ties and continuity
  double tau = 0;            // Kendall's tau-b; 0 if all y are equal
};
// x in any order, equal x allowed. Up to 724 points all slopes are listed (at most 2 MB). With
// more, a seeded sample of pairs brackets the wanted slopes, inversion counts in O(n log n) narrow
// the bracket, and only the slopes left inside are listed, at most max(2^18, 2 n): the result is
// that of the full list but for rounding, in memory linear in n.
//
// Nothing if the sizes differ, with fewer than 3 points, if all x are equal, if `confidence` is not
// between 0 and 1, or if the spread of x or y or a result is beyond the range of a double.
std::optional<Trend> trend(std::span<const double> x, std::span<const double> y,
                           double confidence = 0.95);

// Mann-Kendall's S of trend(), for import: concordant less discordant pairs, its variance under
// ties, and z with continuity correction.
struct MannKendall {
  double s = 0, variance = 0, z = 0;
};
std::optional<MannKendall> mann_kendall(std::span<const double> x, std::span<const double> y);

// Places of outliers, ascending: |0.6745 (x - median) / MAD| above `limit` (Iglewicz and Hoaglin).
// Where the MAD is 0, more than half of the samples are equal: then 0.7979 / the mean absolute
// deviation of the other samples takes the place of 0.6745 / MAD, so that one departure among equal
// samples is an outlier, and the steps of a coarse clock are not. O(n).
std::vector<std::size_t> modified_z_outliers(std::span<const double> samples, double limit = 3.5);
// Places, ascending, that are more than `limit` sigma from the median of the window of
// 2 half_window + 1 around them, which the ends of the series cut short (Hampel). Sigma is one for
// the series, from the differences of neighbours, so that a trend or a step does not widen it:
// median |difference| / (sqrt(2) 0.6745), or, where that is 0, mean |difference| divided by
// (sqrt(2) 0.7979). A window of w costs O(log w) comparisons and a move of up to w values a place.
std::vector<std::size_t> hampel_outliers(std::span<const double> samples, std::size_t half_window,
                                         double limit = 3.0);
// The series with the median of its window, as it was, in each of these places.
std::vector<double> hampel_filter(std::span<const double> samples, std::size_t half_window,
                                  double limit = 3.0);

// Counts of values in buckets of at most 1/64 relative width: quantiles of streams of any length,
// merged across threads, ranks and runs. The error of quantile() is below 0.8 % of its value, for
// negative and subnormal values too. Bucket borders come from the bits of the double, so merged
// histograms of different machines agree.
//
// 512 bytes for each factor of 2 between the smallest and the largest magnitude (a microsecond to
// an hour: 16 KB), twice that after growth, below 2.2 MB for the whole range of double. add() is
// O(1) but for growth; quantile() and merge() are linear in the buckets. Counts stop at 2^64 - 1.
// Not thread-safe: one histogram a thread, then merge.
class Histogram {
 public:
  // NaN and infinities are counted apart, in not_finite() only. Without memory for its bucket a
  // value goes to the nearest there is: then quantiles may be off, all else is right.
  void add(double value, std::uint64_t count = 1) noexcept;
  // As if all values of `other` had been added: the order of merging changes no count, quantile,
  // min or max; the mean may differ in its last digits.
  void merge(const Histogram& other);
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t not_finite() const noexcept { return not_finite_; }
  std::optional<double> quantile(double p) const;  // nearest rank; 0 and 1 are exact
  std::optional<double> min() const, max() const;  // exact
  std::optional<double> mean() const;  // compensated sum; nothing if that is beyond a double
  std::size_t bytes() const noexcept;  // of memory held

 private:
  // Counts of bucket first, first + 1, ...; grows at either end.
  struct Buckets {
    std::vector<std::uint64_t> counts;
    int first = 0;
    void add(int bucket, std::uint64_t count) noexcept;
    void cover(int low, int high);
    void cover(const Buckets& other);
    void merge(const Buckets& other);
  };
  void add_to_sum(double value) noexcept;

  Buckets positive_, negative_;  // by magnitude
  std::uint64_t zeros_ = 0, count_ = 0, not_finite_ = 0;
  double min_ = 0, max_ = 0;         // of a count above 0
  double sum_ = 0, correction_ = 0;  // Neumaier
};

}  // namespace genscope::stats
