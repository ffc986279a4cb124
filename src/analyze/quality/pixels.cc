// Pixels: exact integer sums for PSNR; for SSIM the five local means (a, b, aa, bb, ab) by a
// separable Gaussian, row by row into a ring of 11, so that memory is 55 rows, not images.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analyze/inference/inference.h"
#include "analyze/quality/quality.h"

namespace genscope::stats {
namespace {

constexpr std::size_t kTaps = 11;

std::array<double, kTaps> gaussian_taps() {
  std::array<double, kTaps> taps{};
  double sum = 0;
  for (std::size_t i = 0; i < kTaps; ++i) {
    const double x = static_cast<double>(i) - static_cast<double>(kTaps / 2);
    taps[i] = std::exp(-x * x / (2 * 1.5 * 1.5));
    sum += taps[i];
  }
  for (double& tap : taps) tap /= sum;
  return taps;
}

struct LocalSums {
  double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  void add(const LocalSums& other, double weight) noexcept {
    a += weight * other.a;
    b += weight * other.b;
    aa += weight * other.aa;
    bb += weight * other.bb;
    ab += weight * other.ab;
  }
};

double similarity(const LocalSums& s) noexcept {
  constexpr double kC1 = (0.01 * 255) * (0.01 * 255), kC2 = (0.03 * 255) * (0.03 * 255);
  const double variance_a = std::max(0.0, s.aa - s.a * s.a);
  const double variance_b = std::max(0.0, s.bb - s.b * s.b);
  const double together = s.ab - s.a * s.b;
  return (2 * s.a * s.b + kC1) * (2 * together + kC2) /
         ((s.a * s.a + s.b * s.b + kC1) * (variance_a + variance_b + kC2));
}

}  // namespace

std::optional<PixelDifference> pixel_difference(std::span<const std::uint8_t> a,
                                                std::span<const std::uint8_t> b) {
  if (a.size() != b.size() || a.empty()) return std::nullopt;
  std::uint64_t squares = 0, sum = 0;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int off = std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i]));
    squares += static_cast<std::uint64_t>(off * off);
    sum += static_cast<std::uint64_t>(off);
    largest = std::max(largest, off);
  }
  const auto n = static_cast<double>(a.size());
  PixelDifference result;
  result.mse = static_cast<double>(squares) / n;
  result.mean_abs = static_cast<double>(sum) / n;
  result.largest = static_cast<std::uint8_t>(largest);
  result.psnr_db = squares == 0 ? std::numeric_limits<double>::infinity()
                                : 10 * std::log10(255.0 * 255.0 / result.mse);
  return result;
}

std::optional<double> ssim(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                           std::size_t width, std::size_t height, std::size_t channels) {
  if (width < kTaps || height < kTaps || channels == 0 || a.size() != b.size() ||
      a.size() / width / height != channels || a.size() % (width * height) != 0) {
    return std::nullopt;
  }
  const std::array<double, kTaps> taps = gaussian_taps();
  const std::size_t columns = width - kTaps + 1;
  std::array<std::vector<LocalSums>, kTaps> rows;  // row y is rows[y % kTaps]
  double sum = 0;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    for (std::size_t y = 0; y < height; ++y) {
      std::vector<LocalSums>& row = rows[y % kTaps];
      row.assign(columns, {});
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t at = (y * width + x) * channels + channel;
        const double p = a[at], q = b[at];
        const LocalSums pixel{p, q, p * p, q * q, p * q};
        const std::size_t first = x < kTaps ? 0 : x - kTaps + 1;
        for (std::size_t c = first; c <= std::min(x, columns - 1); ++c) {
          row[c].add(pixel, taps[x - c]);
        }
      }
      if (y + 1 < kTaps) continue;
      const std::size_t top = y + 1 - kTaps;
      for (std::size_t c = 0; c < columns; ++c) {
        LocalSums local;
        for (std::size_t i = 0; i < kTaps; ++i) local.add(rows[(top + i) % kTaps][c], taps[i]);
        sum += similarity(local);
      }
    }
  }
  const auto windows = static_cast<double>(columns * (height - kTaps + 1) * channels);
  return sum / windows;
}

RangeGate range_gate(const std::map<std::string, double>& measured,
                     const std::map<std::string, Range>& ranges) {
  RangeGate gate;
  for (const auto& [metric, range] : ranges) {
    const auto found = measured.find(metric);
    if (found != measured.end() && found->second >= range.low && found->second <= range.high) {
      continue;
    }
    gate.failed.push_back(metric);
  }
  gate.pass = gate.failed.empty();
  return gate;
}

std::optional<NonInferiority> non_inferiority(std::span<const double> before,
                                              std::span<const double> after, double margin,
                                              double confidence) {
  if (before.size() < 2 || !(margin >= 0)) return std::nullopt;
  const std::optional<PairedTests> tests = paired_tests(before, after, confidence);
  if (!tests) return std::nullopt;
  NonInferiority result;
  if (tests->student) {
    result.difference = -tests->student->difference;
    result.low = -tests->student->interval.high;
    result.high = -tests->student->interval.low;
  } else {  // all pairs differ by the same
    result.difference = result.low = result.high = after[0] - before[0];
  }
  if (result.low >= -margin) {
    result.change = QualityChange::not_worse;
  } else if (result.high < -margin) {
    result.change = QualityChange::worse;
  }
  return result;
}

}  // namespace genscope::stats
