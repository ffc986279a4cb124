#include "optimize/cache/kinds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace genscope::optimize::cache {
namespace {

constexpr double kLeast = 1e-9;

}  // namespace

void Durations::add(double seconds) noexcept {
  const double place = 8 * std::log2(std::max(seconds, kLeast) / kLeast);
  ++buckets_[static_cast<std::size_t>(std::clamp(place, 0.0, 511.0))];
  ++count_;
}

void Durations::add(const Durations& other) noexcept {
  for (std::size_t at = 0; at < buckets_.size(); ++at) buckets_[at] += other.buckets_[at];
  count_ += other.count_;
}

double Durations::percentile(double share) const noexcept {
  if (count_ == 0) return std::numeric_limits<double>::quiet_NaN();
  double left = share * static_cast<double>(count_);
  std::size_t at = 0;
  for (; at + 1 < buckets_.size() && left > buckets_[at]; ++at) left -= buckets_[at];
  return kLeast * std::exp2((static_cast<double>(at) + 0.5) / 8);
}

}  // namespace genscope::optimize::cache
