#include "report/page/lanes.h"

#include <algorithm>
#include <array>
#include <limits>

namespace genscope::report {

std::vector<std::uint8_t> lanes_of(const Trace& trace, std::span<const std::uint32_t> spans) {
  std::vector<std::uint8_t> lanes;
  lanes.reserve(spans.size());
  std::array<std::int64_t, kDeepest> free_from;  // of each lane: end of the last span in it
  free_from.fill(std::numeric_limits<std::int64_t>::min());
  std::array<std::uint32_t, kDeepest> holder;  // span that is in it
  holder.fill(kNone);
  std::size_t used = 0;
  for (const std::uint32_t span : spans) {
    const std::int64_t begin = trace.spans.begin_ns[span];
    const std::uint32_t parent = trace.spans.parent[span];
    std::size_t lane = 0;
    for (std::size_t i = used; i-- > 0;) {  // under its parent, if that is here
      if (holder[i] != parent || parent == kNone) continue;
      lane = i + 1;
      break;
    }
    while (lane < kDeepest && free_from[lane] > begin) ++lane;
    if (lane < kDeepest) {
      free_from[lane] = begin + std::max<std::int64_t>(trace.spans.duration_ns[span], 0);
      holder[lane] = span;
      used = std::max(used, lane + 1);
    }
    lanes.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(lane, kDeepest)));
  }
  return lanes;
}

}  // namespace genscope::report
