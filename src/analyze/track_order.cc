#include "analyze/track_order.h"

namespace genscope::analysis {
namespace {

bool grouped(const Trace& trace) {
  std::vector<bool> seen(trace.tracks.size());
  std::uint32_t current = kNone;
  for (const std::uint32_t track : trace.spans.track) {
    if (track == current) continue;
    if (seen[track]) return false;
    seen[track] = true;
    current = track;
  }
  return true;
}

}  // namespace

TrackOrder::TrackOrder(const Trace& trace) {
  if (grouped(trace)) return;
  const std::vector<std::uint32_t>& track = trace.spans.track;
  std::vector<std::uint32_t> next(trace.tracks.size() + 1);
  for (const std::uint32_t t : track) ++next[t + 1];
  for (std::size_t t = 1; t < next.size(); ++t) next[t] += next[t - 1];
  order_.resize(track.size());
  for (std::size_t i = 0; i < track.size(); ++i) {
    order_[next[track[i]]++] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace genscope::analysis
