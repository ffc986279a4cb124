// Adjusted p-values, as R's p.adjust(): one sort, then one walk that keeps them in order.
#include <cmath>
#include <numeric>

#include "analyze/inference/inference.h"

namespace genscope::stats {

std::vector<double> adjust(std::span<const double> p_values, Correction correction) {
  const std::size_t n = p_values.size();
  for (const double p : p_values) {
    if (!(p >= 0 && p <= 1)) return {};
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  const auto count = static_cast<double>(n);
  double harmonic = 0;
  for (std::size_t i = n; i > 0; --i) harmonic += 1 / static_cast<double>(i);

  std::vector<double> adjusted(n);
  // The factor of the p at place `rank`, from 1, of the sorted ones.
  const auto factor = [&](double rank) {
    switch (correction) {
      case Correction::bonferroni:
        return count;
      case Correction::holm:
      case Correction::hochberg:
        return count - rank + 1;
      case Correction::benjamini_hochberg:
        return count / rank;
      case Correction::benjamini_yekutieli:
        return harmonic * count / rank;
    }
    return count;
  };
  const auto at = [&](std::size_t place) {
    return std::min(1.0, factor(static_cast<double>(place + 1)) * p_values[order[place]]);
  };
  if (correction == Correction::holm || correction == Correction::bonferroni) {
    double most = 0;  // step down
    for (std::size_t i = 0; i < n; ++i) adjusted[order[i]] = most = std::max(most, at(i));
  } else {
    double least = 1;  // step up
    for (std::size_t i = n; i-- > 0;) adjusted[order[i]] = least = std::min(least, at(i));
  }
  return adjusted;
}

}  // namespace genscope::stats
