#include <algorithm>

#include "analyze/generation/generation.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

std::string_view threshold(double share) {
  if (share > kBottleneckShare) return "over 50% (bottleneck)";
  if (share > kStageHeavyShare) return "over 30%";
  return share > kConsiderShare ? "over 20% (consider)" : "";
}

// What a session or a request has to itself is time that nobody marked, or marked elsewhere: a
// request hangs beside the threads' stacks, and knows those children only that name it.
bool is_work(const StageRow& row) noexcept {
  return row.kind != SpanKind::session && row.kind != SpanKind::request;
}

}  // namespace

std::vector<Bottleneck> find_bottlenecks(const std::vector<StageRow>& stages, const Layers& layers,
                                         std::int64_t wall_ns) {
  // Threads that work at once have more time between them than the run took: then shares are of
  // that, so that they add up to no more than 1.
  std::int64_t busy_ns = 0;
  for (const StageRow& row : stages) {
    if (is_work(row)) busy_ns = add(busy_ns, row.self_ns);
  }
  const auto whole = static_cast<double>(std::max(busy_ns, wall_ns));
  std::vector<Bottleneck> found;
  for (const StageRow& row : stages) {
    if (!is_work(row) || whole <= 0 || row.folded > 0) continue;
    const double share = static_cast<double>(row.self_ns) / whole;
    if (share > kConsiderShare) {
      found.push_back({row.name, row.kind, share, std::string(threshold(share))});
    }
  }
  for (const LayerRow& row : layers.rows) {
    if (!layers.told || row.share <= kStageHeavyShare || row.folded > 0) continue;
    found.push_back({row.name, SpanKind::function, row.share, "over 30% of the layers' time"});
  }
  std::stable_sort(found.begin(), found.end(), [](const Bottleneck& a, const Bottleneck& b) {
    return a.self_share > b.self_share;
  });
  return found;
}

}  // namespace genscope::analysis
