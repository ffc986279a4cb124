#include "report/stage_shares.h"

#include <algorithm>

namespace genscope::report {

StageShares stage_shares(const StageTree& tree) {
  StageShares shares;
  auto sum = static_cast<double>(tree.outside_ns);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const auto self = std::max(0.0, static_cast<double>(tree.nodes[i].self_ns));
    shares.rows.push_back({i, self});
    sum += self;
  }
  const double whole = std::max(sum, static_cast<double>(tree.wall_ns));
  if (whole <= 0) return {};
  for (StageShare& row : shares.rows) row.share /= whole;
  shares.outside_share = static_cast<double>(tree.outside_ns) / whole;
  std::stable_sort(shares.rows.begin(), shares.rows.end(),
                   [](const StageShare& a, const StageShare& b) { return a.share > b.share; });
  return shares;
}

}  // namespace genscope::report
