// How many runs: closed forms and bisection over n, O(log n) evaluations of Student's t.
#include <cmath>
#include <cstdint>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"

namespace genscope::stats {
namespace {

constexpr double kMostRuns = 1e9;  // beyond, the answer is "not in this life"

bool sensible(double effect, double cv) noexcept {
  return effect > 0 && cv > 0 && std::isfinite(effect) && std::isfinite(cv);
}

}  // namespace

std::optional<double> runs_for_effect(double effect, double cv, double alpha, double power) {
  if (!sensible(effect, cv) || !inside_unit(alpha) || !inside_unit(power)) return std::nullopt;
  const auto reached = [&](double n) {
    const double df = 2 * (n - 1);
    const double critical = t_quantile(1 - alpha / 2, df);
    return 1 - noncentral_t_cdf(critical, df, std::sqrt(n / 2) * effect / cv) >= power;
  };
  double low = 2, high = 2;
  while (!reached(high)) {
    low = high;
    high *= 2;
    if (high > kMostRuns) return std::nullopt;
  }
  for (int i = 0; i < 60 && high - low > 1e-10 * high; ++i) {
    const double middle = (low + high) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<double> half_width(std::uint64_t n, double cv, double confidence) {
  if (n < 2 || !(cv >= 0) || !std::isfinite(cv) || !inside_unit(confidence)) return std::nullopt;
  const auto size = static_cast<double>(n);
  return t_quantile((1 + confidence) / 2, size - 1) * cv / std::sqrt(size);
}

std::optional<std::uint64_t> runs_for_half_width(std::uint64_t now, double cv, double target,
                                                 double confidence) {
  if (!(target > 0) || !(cv >= 0) || !std::isfinite(cv) || !inside_unit(confidence)) {
    return std::nullopt;
  }
  const auto reached = [&](std::uint64_t n) { return *half_width(n, cv, confidence) <= target; };
  std::uint64_t low = std::max<std::uint64_t>(now, 2), high = low;
  if (reached(low)) return low;
  while (!reached(high)) {
    low = high;
    high *= 2;
    if (static_cast<double>(high) > kMostRuns) return std::nullopt;
  }
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<double> detectable_effect(std::uint64_t n, double cv, double alpha, double power) {
  if (n < 2 || !(cv >= 0) || !std::isfinite(cv) || !inside_unit(alpha) || !inside_unit(power)) {
    return std::nullopt;
  }
  const auto size = static_cast<double>(n);
  const double df = 2 * size - 2;
  return (t_quantile(1 - alpha / 2, df) + t_quantile(power, df)) * cv * std::sqrt(2 / size);
}

}  // namespace genscope::stats
