// Buckets grow by 2^(1/24), 2.9 %, from a microsecond to about 16 hours: 864 counts. A quantile is
// found by one walk; its error is half a bucket. Halving every count forgets exponentially.
#include <algorithm>
#include <cmath>

#include <genscope/optimize/retry.h>

#include "optimize/flow/quantile.h"

namespace genscope::optimize {
namespace {

constexpr double kQuantileLeast = 1e-6;
constexpr double kQuantileSteps = 24;  // buckets for a factor of two
constexpr std::size_t kQuantileBuckets = 864;

}  // namespace

StreamingQuantile::StreamingQuantile(std::size_t forget_every)
    : buckets_(kQuantileBuckets), forget_every_(std::max<std::size_t>(100, forget_every)) {}

void StreamingQuantile::add(double seconds) noexcept {
  const double place =
      seconds > kQuantileLeast ? std::log2(seconds / kQuantileLeast) * kQuantileSteps : 0;
  const double last = static_cast<double>(kQuantileBuckets - 1);
  ++buckets_[static_cast<std::size_t>(std::min(place, last))];
  ++total_;
  if (++since_halved_ < forget_every_) return;
  since_halved_ = total_ = 0;
  for (std::uint32_t& bucket : buckets_) total_ += bucket /= 2;
}

std::optional<double> StreamingQuantile::at(double q) const noexcept {
  if (!(q > 0 && q < 1)) return std::nullopt;
  const double n = static_cast<double>(total_);
  if (n < 20 || n * (1 - q) < 1 - 1e-9) return std::nullopt;
  const double wanted = q * n;
  double seen = 0;
  for (std::size_t i = 0; i < kQuantileBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted && seen > 0) {
      return kQuantileLeast * std::exp2((static_cast<double>(i) + 0.5) / kQuantileSteps);
    }
  }
  return std::nullopt;
}

}  // namespace genscope::optimize
