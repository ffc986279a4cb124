// History of one figure: where its level changed, and whether a new value fits. Pure functions with
// the rules of analyze/statistics/statistics.h. A series is in the order of time; a change point is
// the place, from 0, of the first value of the new level.
//
// What we judge by: hunter() on hampel_filter(series, 3, 4), confirmed by potts(). The others are
// for comparison with the tools that use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/inference/inference.h"

namespace genscope::stats {

// Energy distance between the two sides of every split: T[i] of series[0, i) against the rest,
// nm / (n + m) (2 mean |x - y| - mean |x - x'| - mean |y - y'|); T[0] is 0. O(n log n).
std::vector<double> energy_statistics(std::span<const double> series);

// Matteson and James: the split that maximises the same with unbiased means, where the right side
// may end anywhere. O(n^2) time, O(n) memory.
struct Candidate {
  std::size_t index = 0;
  double q = 0;
};
std::optional<Candidate> best_split(std::span<const double> series);  // from two values on

struct EDivisiveOptions {
  double p_value = 0.01;
  std::size_t permutations = 499;
  std::uint64_t seed = 1;
};
// E-divisive: split at the largest T as long as permutations within the segments rarely reach it.
// Ascending. O(permutations n log n) for each change.
std::vector<std::size_t> e_divisive(std::span<const double> series,
                                    const EDivisiveOptions& options = {});

// One change of level, judged on the segments beside it.
struct LevelChange {
  std::size_t index = 0;
  double before = 0, after = 0;  // means of the segments
  double p_value = 1;            // Student's t, pooled variance
};
// These change points, ascending, of the series. Empty if they are not inside it.
std::vector<LevelChange> level_changes(std::span<const double> series,
                                       std::span<const std::size_t> indices);

struct HunterOptions {
  std::size_t window = 30;  // split inside windows of this size, each half over the last
  double p_value = 0.001;
  double magnitude = 0.02;  // smallest relative change of the mean that counts
  std::size_t least = 2;    // values a segment must have
  // As Apache Otava 0.7 computes: the deviation of the population in a test that expects the
  // sample's, segments of one value, and figures to the left of a removed point not refreshed. For
  // comparison only: twice as many false points in short segments.
  bool as_otava = false;
};
// Hunter (Fleming et al. 2023): split by best_split() while Student's t allows, at ten times the
// p-value; then remove the weakest until all are below the p-value and at least the magnitude.
// O(n window) for each pass over the windows.
std::vector<LevelChange> hunter(std::span<const double> series, const HunterOptions& options = {});

// A piecewise constant fit: minimises gamma (segments - 1) + sum |y - median of its segment|,
// exactly, in O(n^2) time and O(n) memory.
struct PottsSegment {
  std::size_t begin = 0, end = 0;  // [begin, end)
  double median = 0, cost = 0;     // cost: sum |y - median|
};
// `gamma` absent: potts_gamma(). `least`: values a segment must have.
std::vector<PottsSegment> potts(std::span<const double> series,
                                std::optional<double> gamma = std::nullopt, std::size_t least = 3);
// 3 ln(n) sigma, sigma from the differences of neighbours (hampel_outliers()). 0 for fewer than 2.
double potts_gamma(std::span<const double> series);

// Perfherder: |t| of the `fore` next against the `back` to twice as many last values, weights
// falling with the distance, above `limit` and not below its neighbours'. O(n fore).
std::vector<std::size_t> windowed_t_changes(std::span<const double> series, double limit = 7,
                                            std::size_t back = 12, std::size_t fore = 12);

// Where a new value is expected, from the values since the last accepted change.
struct Bounds {
  double low = 0, high = 0;
};
// mean -+ t(cumulative, n - 1) sd sqrt(1 + 1 / n).
std::optional<Bounds> prediction_bounds(std::size_t n, double mean, double sd, double cumulative);
std::optional<Bounds> prediction_bounds(std::span<const double> history, double cumulative);
// The same around the median, 1.4826 MAD in the place of the deviation: what we judge by. Where the
// MAD is 0, prediction_bounds() of the mean.
std::optional<Bounds> robust_bounds(std::span<const double> history, double cumulative);
std::optional<Bounds> normal_bounds(double mean, double sd, double cumulative);
std::optional<Bounds> quartile_bounds(double median, double iqr, double multiple);

}  // namespace genscope::stats
