// Quality beside speed: images of the same prompt and seed compared, and gates on what a user's own
// metric says. Pure functions with the rules of analyze/statistics/statistics.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace genscope::stats {

// Of 8-bit samples, pixel by pixel and channel by channel.
struct PixelDifference {
  double mse = 0;
  double psnr_db = 0;  // 10 log10(255^2 / mse); infinite if all are equal
  double mean_abs = 0;
  std::uint8_t largest = 0;
};
// Nothing if the sizes differ or are 0. O(n), exact sums.
std::optional<PixelDifference> pixel_difference(std::span<const std::uint8_t> a,
                                                std::span<const std::uint8_t> b);

// Structural similarity (Wang et al. 2004): Gaussian window of 11 x 11 with sigma 1.5, K1 = 0.01,
// K2 = 0.03, range 255, the mean over all windows that fit and over the channels (interleaved).
// Nothing if the sizes do not fit, or if an image is smaller than the window. O(pixels * 22).
std::optional<double> ssim(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                           std::size_t width, std::size_t height, std::size_t channels = 1);

// Frechet distance of two normal distributions, as FID: |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^1/2).
// Covariances by rows, symmetric, d x d. O(d^3) a sweep. Nothing if they are not that, or not
// positive semidefinite.
std::optional<double> frechet_distance(std::span<const double> mean1,
                                       std::span<const double> covariance1,
                                       std::span<const double> mean2,
                                       std::span<const double> covariance2);

// Every range, ends included, holds its metric. A metric that was not measured, or is NaN, fails.
struct Range {
  double low = 0, high = 0;
};
struct RangeGate {
  bool pass = true;
  std::vector<std::string> failed;  // names, in order
};
RangeGate range_gate(const std::map<std::string, double>& measured,
                     const std::map<std::string, Range>& ranges);

// Speed is void without quality: the paired difference after - before of a metric, where higher is
// better, is shown to be above -margin, or shown to be below it.
enum class QualityChange : std::uint8_t { not_worse, worse, unclear };
struct NonInferiority {
  QualityChange change = QualityChange::unclear;
  double difference = 0;     // mean of after - before
  double low = 0, high = 0;  // interval
};
// By prompt and seed. Nothing for fewer than two pairs.
std::optional<NonInferiority> non_inferiority(std::span<const double> before,
                                              std::span<const double> after, double margin,
                                              double confidence = 0.95);

}  // namespace genscope::stats
