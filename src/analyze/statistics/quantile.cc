#include <algorithm>
#include <vector>

#include "analyze/statistics/order.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

// The position, from 0 and perhaps between two samples, that each method reads.
double position_of(double p, std::size_t n, QuantileMethod method) noexcept {
  const auto size = static_cast<double>(n);
  switch (method) {
    case QuantileMethod::nearest_rank:
      return static_cast<double>(nearest_place(p, n) - 1);
    case QuantileMethod::linear:
      return p * (size - 1);
    case QuantileMethod::median_unbiased:
      return std::clamp(p * (size + 1.0 / 3) - 2.0 / 3, 0.0, size - 1);
    case QuantileMethod::weibull:
      return std::clamp(p * (size + 1) - 1, 0.0, size - 1);
  }
  return 0;
}

}  // namespace

std::optional<double> quantile(std::span<const double> samples, double p, QuantileMethod method) {
  if (samples.empty() || !(p >= 0 && p <= 1) || !all_finite(samples)) return std::nullopt;
  std::vector<double> values(samples.begin(), samples.end());
  const double position = position_of(p, values.size(), method);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), below, values.end());
  const double fraction = position - std::floor(position);
  if (fraction == 0 || below + 1 == values.end()) return *below;
  return std::lerp(*below, *std::min_element(below + 1, values.end()), fraction);
}

}  // namespace genscope::stats
