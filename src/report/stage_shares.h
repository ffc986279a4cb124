// The stage tree as shares of the time, those with the most self time first.
#pragma once

#include <cstddef>
#include <vector>

#include <genscope/analyze.h>

namespace genscope::report {

struct StageShare {
  std::size_t node = 0;  // of StageTree::nodes
  double share = 0;      // its self time
};
struct StageShares {
  std::vector<StageShare> rows;
  // Of the run's wall time in each process that marks stages; more where threads overlap.
  double outside_share = 0;
};
StageShares stage_shares(const StageTree& tree);

}  // namespace genscope::report
