#include <algorithm>
#include <vector>

#include "analyze/statistics/differences.h"
#include "analyze/statistics/order.h"
#include "analyze/statistics/rank_sum.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {
namespace {

constexpr std::size_t kMostSamples = std::size_t{1} << 31;  // so that pairs fit in 63 bits

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

bool usable(std::span<const double> samples) noexcept {
  return !samples.empty() && samples.size() <= kMostSamples && all_finite(samples);
}

}  // namespace

std::optional<Shift> shift(std::span<const double> before, std::span<const double> after,
                           double confidence) {
  if (!usable(before) || !usable(after) || !(confidence > 0 && confidence < 1)) return std::nullopt;
  const std::vector<double> x = sorted(before), y = sorted(after);
  const Differences differences(x, y);
  const RankSum ranks(x, y);
  const IntervalRank rank = interval_rank(x.size(), y.size(), confidence);
  Shift result;
  result.estimate = differences.median();
  result.low = differences.at(rank.k);
  result.high = differences.at(differences.size() + 1 - rank.k);
  result.confidence = rank.confidence;
  result.p_value = ranks.exact() ? ranks.p_exact() : ranks.p_normal();
  result.effect = ranks.cliffs_delta();
  return result;
}

}  // namespace genscope::stats
