#include "bench/run/steady.h"

#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"

namespace genscope::bench {
namespace {

constexpr double kStillFaster = 0.03;
constexpr double kIterationsWidth = 0.02;  // of the median within a unit, relative

}  // namespace

bool still_warming(double before_s, double now_s) noexcept {
  return now_s < before_s * (1 - kStillFaster);
}

bool enough_iterations(std::span<const double> times, std::size_t least) {
  if (times.size() < least) return false;
  const auto interval = stats::median_interval(times);
  const auto median = stats::quantile(times, 0.5);
  return interval && median && (interval->high - interval->low) / 2 <= kIterationsWidth * *median;
}

}  // namespace genscope::bench
