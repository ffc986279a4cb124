#include "analyze/statistics/order.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace genscope::stats {

bool all_finite(std::span<const double> values) noexcept {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

std::uint64_t nearest_place(double p, std::uint64_t n) noexcept {
  constexpr double kFuzz = 4 * std::numeric_limits<double>::epsilon();
  if (p >= 1) return n;
  const double exact = p * static_cast<double>(n);
  const double whole = std::nearbyint(exact);
  const double place = std::fabs(exact - whole) <= kFuzz * exact ? whole : std::ceil(exact);
  if (!(place >= 1)) return 1;
  if (place >= static_cast<double>(n)) return n;  // also keeps the conversion in range
  return static_cast<std::uint64_t>(place);
}

double at_position(std::span<const double> sorted, double position) noexcept {
  if (std::isnan(position)) return position;
  const double last = static_cast<double>(sorted.size() - 1);
  const double at = std::clamp(position, 0.0, last);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

double median_in_place(std::span<double> values) noexcept {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace genscope::stats
