// Royston's approximation to Shapiro and Wilk's test of normality, AS R94 (1995), as R has it: the
// weights of the two largest order statistics come from polynomials in 1 / sqrt(n), the others
// from expected normal scores; a transformation of 1 - W is near normal. O(n log n).
#include <array>
#include <cmath>
#include <numbers>

#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/normal.h"

namespace genscope::stats {
namespace {

// c[0] + c[1] x + c[2] x^2 + ...
template <std::size_t N>
double polynomial(const std::array<double, N>& c, double x) noexcept {
  double value = 0;
  for (std::size_t i = N; i-- > 0;) value = value * x + c[i];
  return value;
}

constexpr std::array<double, 6> kLargest{0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056};
constexpr std::array<double, 6> kSecond{0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
constexpr std::array<double, 4> kSmallMean{0.544, -0.39978, 0.025054, -6.714e-4};
constexpr std::array<double, 4> kSmallLogDeviation{1.3822, -0.77857, 0.062767, -0.0020322};
constexpr std::array<double, 4> kMean{-1.5861, -0.31082, -0.083751, 0.0038915};
constexpr std::array<double, 3> kLogDeviation{-0.4803, -0.082676, 0.0030302};
constexpr std::array<double, 2> kGamma{-2.273, 0.459};

// The weights of the upper half, the largest first.
std::vector<double> half_weights(std::size_t n) {
  std::vector<double> weights(n / 2);
  if (n == 3) {
    weights[0] = std::numbers::sqrt2 / 2;
    return weights;
  }
  const auto size = static_cast<double>(n);
  double squares = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = normal_quantile((static_cast<double>(i) + 1 - 0.375) / (size + 0.25));
    squares += weights[i] * weights[i];
  }
  squares *= 2;
  const double root = std::sqrt(squares), r = 1 / std::sqrt(size);
  const double first = polynomial(kLargest, r) - weights[0] / root;
  std::size_t from = 1;
  double scale = 0;
  if (n > 5) {
    from = 2;
    const double second = -weights[1] / root + polynomial(kSecond, r);
    scale = std::sqrt((squares - 2 * weights[0] * weights[0] - 2 * weights[1] * weights[1]) /
                      (1 - 2 * first * first - 2 * second * second));
    weights[1] = second;
  } else {
    scale = std::sqrt((squares - 2 * weights[0] * weights[0]) / (1 - 2 * first * first));
  }
  weights[0] = first;
  for (std::size_t i = from; i < weights.size(); ++i) weights[i] /= -scale;
  return weights;
}

double significance(double w, double rest, std::size_t n) {
  const auto size = static_cast<double>(n);
  if (n == 3) {
    constexpr double kSixOverPi = 6 / std::numbers::pi;
    const double least = std::asin(std::sqrt(0.75));
    return std::max(0.0, kSixOverPi * (std::asin(std::sqrt(w)) - least));
  }
  double y = std::log(rest);
  double mean = 0, deviation = 0;
  if (n <= 11) {
    const double gamma = polynomial(kGamma, size);
    if (y >= gamma) return 1e-99;
    y = -std::log(gamma - y);
    mean = polynomial(kSmallMean, size);
    deviation = std::exp(polynomial(kSmallLogDeviation, size));
  } else {
    const double log_n = std::log(size);
    mean = polynomial(kMean, log_n);
    deviation = std::exp(polynomial(kLogDeviation, log_n));
  }
  return normal_cdf(-(y - mean) / deviation);
}

}  // namespace

std::optional<ShapiroWilk> shapiro_wilk(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < 3 || n > 5000 || !all_finite(samples)) return std::nullopt;
  const std::vector<double> x = sorted_copy(samples);
  const double range = x.back() - x.front();
  if (!(range > 0) || !std::isfinite(range)) return std::nullopt;
  const std::vector<double> half = half_weights(n);
  const auto weight = [&](std::size_t i) {
    if (i < half.size()) return -half[i];
    return i >= n - half.size() ? half[n - 1 - i] : 0.0;
  };
  double mean = 0;
  for (const double value : x) mean += (value - x.front()) / range;
  mean /= static_cast<double>(n);
  double aa = 0, xx = 0, ax = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double off = (x[i] - x.front()) / range - mean, a = weight(i);
    aa += a * a;
    xx += off * off;
    ax += a * off;
  }
  // 1 - W directly: W is near 1.
  const double root = std::sqrt(aa * xx);
  const double rest = (root - ax) * (root + ax) / (aa * xx);
  ShapiroWilk result;
  result.w = 1 - rest;
  result.p_value = rest > 0 ? significance(result.w, rest, n) : 1;
  return result;
}

}  // namespace genscope::stats
