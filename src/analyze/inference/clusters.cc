// Analysis of variance over processes, O(n log n) for the medians. Sums are around the grand mean.
#include <cmath>

#include "analyze/distributions/distributions.h"
#include "analyze/inference/checks.h"
#include "analyze/inference/inference.h"
#include "analyze/statistics/statistics.h"

namespace genscope::stats {

std::optional<Clusters> clusters(std::span<const std::vector<double>> processes) {
  if (processes.size() < 2) return std::nullopt;
  std::vector<double> all;
  double squares = 0;  // of sizes
  for (const std::vector<double>& process : processes) {
    if (!some_finite(process)) return std::nullopt;
    all.insert(all.end(), process.begin(), process.end());
    squares += static_cast<double>(process.size()) * static_cast<double>(process.size());
  }
  const auto n = static_cast<double>(all.size()), k = static_cast<double>(processes.size());
  if (n <= k) return std::nullopt;
  const double grand = *describe(all).mean;
  double between = 0, within = 0;
  Clusters result;
  for (const std::vector<double>& process : processes) {
    const Description d = describe(process);
    const auto size = static_cast<double>(process.size());
    between += size * (*d.mean - grand) * (*d.mean - grand);
    for (const double value : process) within += (value - *d.mean) * (value - *d.mean);
    result.medians.push_back(*d.median);
  }
  if (!std::isfinite(between) || !std::isfinite(within)) return std::nullopt;
  result.ms_between = between / (k - 1);
  result.ms_within = within / (n - k);
  const double m = (n - squares / n) / (k - 1);  // the common size, if they are equal
  const double below = result.ms_between + (m - 1) * result.ms_within;
  if (below > 0) {
    result.icc = (result.ms_between - result.ms_within) / below;
    result.design_effect = 1 + (m - 1) * std::max(0.0, *result.icc);
    result.f = result.ms_between / result.ms_within;  // infinite if no process varies
    result.p_value = f_upper(*result.f, k - 1, n - k);
  }
  result.effective_count = n / result.design_effect;
  return result;
}

}  // namespace genscope::stats
