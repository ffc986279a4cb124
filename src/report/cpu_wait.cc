#include "report/cpu_wait.h"

#include <algorithm>

namespace genscope::report {

CpuWait cpu_wait(const Run& run, const Analysis& analysis) {
  const std::optional<double>& ready = analysis.resources.time.ready_share;
  if (ready) return {ready, false};
  if (!run.cpu_wait_ns || analysis.wall_ns <= 0) return {};
  const double share =
      static_cast<double>(*run.cpu_wait_ns) / static_cast<double>(analysis.wall_ns);
  return {std::min(share, 1.0), true};
}

}  // namespace genscope::report
