// Inference for benchmarks: tests, intervals, sample sizes and corrections for many comparisons.
// Pure functions beside analyze/statistics/statistics.h, with its rules: samples are finite and
// need no order, a NaN or an infinity among them gives no answer, results are the same on every
// machine. The unit of inference is the run: give one value a run, not one an iteration (clusters()
// shows the cost of mixing them up). docs/statistics.md has the formulas and what they were checked
// against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <genscope/analyze.h>  // stats::Interval

namespace genscope::stats {

// ---- one sample

// Student's interval of the mean; nothing for fewer than two samples.
std::optional<Interval> mean_interval(std::span<const double> samples, double confidence = 0.95);
// Distribution-free interval of the median: the samples at places k and n + 1 - k, k the largest
// with P(Bin(n, 1/2) < k) <= (1 - confidence) / 2. Nothing where none is: n < 6 at 95 %.
std::optional<Interval> median_interval(std::span<const double> samples, double confidence = 0.95);
struct MedianPlaces {
  std::uint64_t low = 0, high = 0;  // from 1
  double confidence = 0;
};
std::optional<MedianPlaces> median_places(std::uint64_t n, double confidence);  // O(log n)
std::uint64_t least_for_median(double confidence);  // smallest n with an interval: 6 at 95 %

// Harrell and Davis: a quantile as a mean of all samples with beta weights. Steadier than one
// order statistic for few samples. 0 < p < 1. O(n log n) and n incomplete beta functions.
std::optional<double> harrell_davis(std::span<const double> samples, double p);
// exp of the mean logarithm; nothing unless all samples are above 0.
std::optional<double> geometric_mean(std::span<const double> samples);
// Correlation of neighbours in the given order, as R's acf(): nothing for fewer than two samples or
// equal ones. n (1 - r) / (1 + r) independent samples carry as much.
std::optional<double> autocorrelation(std::span<const double> samples);
std::optional<double> effective_count(std::span<const double> samples);
// sorted[floor(n p)], as MLPerf's LoadGen takes percentiles.
std::optional<double> loadgen_percentile(std::span<const double> samples, double p);

// Tukey's fences: quartiles (type 7) and 1.5 or 3 times their distance. Labels, never a reason to
// drop a sample.
struct TukeyFences {
  double severe_low = 0, mild_low = 0, mild_high = 0, severe_high = 0;
  std::size_t severe_below = 0, mild_below = 0, mild_above = 0, severe_above = 0;  // samples beyond
};
std::optional<TukeyFences> tukey_fences(std::span<const double> samples);

// Royston's AS R94 for 3 to 5000 samples that are not all equal.
struct ShapiroWilk {
  double w = 0, p_value = 0;
};
std::optional<ShapiroWilk> shapiro_wilk(std::span<const double> samples);

// ---- two independent samples, "before" and "after"

// All figures of the Mann-Whitney test; shift() has the interval and the two-sided p. Exact up to
// kExactPairs pairs, ties included; the exact figures are absent beyond.
struct MannWhitney {
  double u_before = 0, u_after = 0;
  std::optional<double> p_less, p_greater;  // after tends to be less, greater: one-sided, exact
  std::optional<double> p_doubled;          // twice the smaller tail, at most 1
  std::optional<double> p_central;          // P(|U - mean| >= |u - mean|)
  double p_normal = 1;                      // two-sided, corrected for ties and continuity
  double p_normal_uncorrected = 1;          // without the continuity correction
  double a12 = 0.5;                         // P(after > before), ties counted half
};
std::optional<MannWhitney> mann_whitney(std::span<const double> before,
                                        std::span<const double> after);

// Student's t with pooled variance, or Welch's. The difference is before - after, as R's t.test.
struct TTest {
  double t = 0, df = 0, p_value = 1;
  double difference = 0;
  Interval interval;  // of the difference
};
// Nothing for fewer than two samples on a side, or if neither varies.
std::optional<TTest> welch_test(std::span<const double> before, std::span<const double> after,
                                double confidence = 0.95);
// Nothing for fewer than three samples in all, or if neither side varies.
std::optional<TTest> student_test(std::span<const double> before, std::span<const double> after,
                                  double confidence = 0.95);

// (mean after - mean before) / pooled deviation, and Hedges' g with the exact correction
// Gamma(v / 2) / (sqrt(v / 2) Gamma((v - 1) / 2)), v = n + m - 2.
struct EffectSize {
  double cohens_d = 0, hedges_g = 0;
};
std::optional<EffectSize> effect_size(std::span<const double> before,
                                      std::span<const double> after);

// Tests of whether two distributions differ in any way.
struct DistributionTest {
  double statistic = 0, p_value = 1;
  bool exact = false;
};
// Two-sided, exact given the ties, in O(n m) up to 10,000 pairs; Smirnov's limit beyond.
std::optional<DistributionTest> kolmogorov_smirnov(std::span<const double> before,
                                                   std::span<const double> after);
// Anderson's T. Exact (as if without ties) up to 20 samples a side, the limit distribution beyond.
std::optional<DistributionTest> cramer_von_mises(std::span<const double> before,
                                                 std::span<const double> after);

// ---- pairs, position by position

struct SignTest {
  std::uint64_t positive = 0, negative = 0;  // pairs with before > after, before < after
  double p_value = 1;                        // two-sided; ties left out
};
// Wilcoxon's signed ranks of before - after; pairs without a difference are left out.
struct SignedRankTest {
  double v = 0;                                       // ranks of the positive differences
  double p_two_sided = 1, p_greater = 1, p_less = 1;  // exact, ties included, up to 100 differences
  bool exact = false;
  double p_normal = 1;      // corrected for ties and continuity
  double pseudomedian = 0;  // median of all means of two differences (Walsh averages)
  Interval interval;        // of the pseudomedian
};
struct PairedTests {
  std::optional<TTest> student;  // absent for one pair or equal differences
  SignTest sign;
  std::optional<SignedRankTest> signed_rank;  // absent if no pair differs
  std::optional<double> spearman;             // of the pairs: how much the two sides move together
};
// O(n log n); the exact signed-rank distribution adds O(n^3) for its at most 100 differences.
// Nothing if the sizes differ or are 0.
std::optional<PairedTests> paired_tests(std::span<const double> before,
                                        std::span<const double> after, double confidence = 0.95);
// Rank correlation; nothing for fewer than two pairs or where a side is constant.
std::optional<double> spearman(std::span<const double> x, std::span<const double> y);

// Median of after / before over the pairs, with the distribution-free interval of the sign test.
// All values above 0.
struct PairedRatio {
  double ratio = 1;
  std::optional<Interval> interval;  // absent with too few pairs: 6 at 95 %
};
std::optional<PairedRatio> paired_ratio(std::span<const double> before,
                                        std::span<const double> after, double confidence = 0.95);

// ---- bootstrap, for what has no closed form: p90, ratios of means, goodput

// BCa from any bootstrap distribution. `jackknife` has a list for each sample: the statistic
// without that sample's i-th value, the other samples whole.
struct BcaInterval {
  double z0 = 0, acceleration = 0;
  double alpha_low = 0, alpha_high = 0;  // places of the ends in the distribution
  Interval interval, percentile;         // BCa, and plain percentiles
  double below = 0;                      // share of replicates below, ties counted half
  double standard_error = 0;             // population deviation of the replicates
};
std::optional<BcaInterval> bca(double estimate, std::span<const double> replicates,
                               std::span<const std::vector<double>> jackknife,
                               double confidence = 0.95);

// The statistic of samples, e.g. {before, after} for a ratio.
using Statistic = std::function<double(std::span<const std::vector<double>>)>;
struct BootstrapOptions {
  std::size_t resamples = 2000;  // 10,000 for a gate
  std::uint64_t seed = 1;
  double confidence = 0.95;
};
struct Bootstrap {
  double estimate = 0;
  BcaInterval bca;
};
// Resamples each of `samples` on its own. Nothing if one is empty or the statistic is not finite.
// resamples * cost of the statistic. Not for medians of fewer than 10 values: median_interval().
std::optional<Bootstrap> bootstrap(std::span<const std::vector<double>> samples,
                                   const Statistic& statistic,
                                   const BootstrapOptions& options = {});
// The same of one sample of processes with iterations each: processes are resampled, then
// iterations within them. The statistic sees the iterations of all as one sample.
std::optional<Bootstrap> cluster_bootstrap(std::span<const std::vector<double>> processes,
                                           const std::function<double(std::span<const double>)>&,
                                           const BootstrapOptions& options = {});

// ---- many comparisons

enum class Correction : std::uint8_t {
  bonferroni,
  holm,  // for gates: no false alarm among all
  hochberg,
  benjamini_hochberg,  // for reports: few false among those called
  benjamini_yekutieli,
};
// Adjusted p-values in the order given, as R's p.adjust(). Empty if one is not between 0 and 1.
// O(n log n).
std::vector<double> adjust(std::span<const double> p_values, Correction correction);

// ---- success rates

struct ProportionInterval {
  double point = 0;
  Interval wilson, clopper_pearson;
};
// Nothing without trials, or with more successes than trials.
std::optional<ProportionInterval> proportion(std::uint64_t successes, std::uint64_t trials,
                                             double confidence = 0.95);
struct FisherTest {
  double p_two_sided = 1, p_worse = 1, p_better = 1;  // of "after" against "before"
};
std::optional<FisherTest> fisher_exact(std::uint64_t before_ok, std::uint64_t before_failed,
                                       std::uint64_t after_ok, std::uint64_t after_failed);

// ---- how many runs

// Runs a side for which a two-sided t-test finds `effect` with `power`, all relative to the mean;
// as R's power.t.test, not rounded. At least 2.
std::optional<double> runs_for_effect(double effect, double cv, double alpha = 0.05,
                                      double power = 0.8);
// Half width of Student's interval of a mean, relative to it: t cv / sqrt(n). From two runs on.
std::optional<double> half_width(std::uint64_t n, double cv, double confidence = 0.95);
// The smallest n >= now with half_width <= target.
std::optional<std::uint64_t> runs_for_half_width(std::uint64_t now, double cv, double target,
                                                 double confidence = 0.95);
// (t(1 - alpha / 2) + t(power)) cv sqrt(2 / n), 2 n - 2 degrees of freedom: the smallest effect
// that n runs a side find.
std::optional<double> detectable_effect(std::uint64_t n, double cv, double alpha = 0.05,
                                        double power = 0.8);

// ---- runs made of iterations

// One-way analysis of variance over processes. Sizes may differ; then the size that counts is
// (N - sum n_i^2 / N) / (k - 1).
struct Clusters {
  double ms_between = 0, ms_within = 0;
  std::optional<double> icc;         // (MSB - MSW) / (MSB + (m - 1) MSW); absent if nothing varies
  double design_effect = 1;          // 1 + (m - 1) max(0, icc)
  double effective_count = 0;        // what all iterations are worth, in independent ones
  std::optional<double> f, p_value;  // of "the processes do not differ"; absent if nothing varies
  std::vector<double> medians;       // of the processes: the samples to compare
};
// Nothing for fewer than two processes, an empty one, or one iteration in each.
std::optional<Clusters> clusters(std::span<const std::vector<double>> processes);

// ---- percentiles of latencies with a promise (MLPerf LoadGen's early stopping)

// The smallest h such that h queries within the limit and `over` beyond it show, with `confidence`,
// that `percentile` - tolerance of all are within: I_{percentile}(h, over + 1) <= 1 - confidence.
std::optional<std::uint64_t> least_within(double percentile, double confidence, std::uint64_t over,
                                          double tolerance = 0);
struct PercentileClaim {
  std::optional<double> estimate;  // absent: too few queries
  std::uint64_t place = 0;         // the estimate is the place-th largest
  std::uint64_t least = 0;         // queries that any claim needs: 64 for p90, 662 for p99
};
std::optional<PercentileClaim> claim_percentile(std::span<const double> latencies,
                                                double percentile, double confidence = 0.99);
// The largest of these percentiles that n queries can claim: what to print instead of "p99".
std::optional<double> largest_claim(std::uint64_t n, std::span<const double> percentiles,
                                    double confidence = 0.99);
struct ServerRun {
  bool valid = false;
  std::uint64_t least = 0, missing = 0;  // queries needed for this many over the limit
};
std::optional<ServerRun> server_run(std::uint64_t queries, std::uint64_t over, double percentile,
                                    double confidence = 0.99);

// ---- straight lines

struct Line {
  double slope = 0, intercept = 0;
  std::optional<double> r2;           // absent if all y are equal
  std::optional<double> slope_error;  // standard error; from three points on
};
// Least squares: for comparison with other tools; trend() is what we judge by.
std::optional<Line> least_squares(std::span<const double> x, std::span<const double> y);

// ---- relative speed, as hyperfine prints it

struct RelativeSpeed {
  double ratio = 1;             // mean / mean of the fastest
  std::optional<double> error;  // ratio sqrt((s1 / m1)^2 + (s2 / m2)^2); absent of one run
};
// In the order given. Empty if one has no samples or a mean that is not above 0.
std::vector<RelativeSpeed> relative_speeds(std::span<const std::vector<double>> times);

}  // namespace genscope::stats
