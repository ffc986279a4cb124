#include "analyze/track_order.h"

namespace genscope::analysis {
namespace {

// The stretches of equal tracks; false if a track has more than one.
bool find_stretches(const Trace& trace, std::vector<TrackOrder::Stretch>& stretches) {
  const std::vector<std::uint32_t>& track = trace.spans.track;
  std::vector<bool> seen(trace.tracks.size());
  for (std::size_t i = 0; i < track.size(); ++i) {
    if (i > 0 && track[i] == track[i - 1]) continue;
    if (seen[track[i]]) return false;
    seen[track[i]] = true;
    if (!stretches.empty()) stretches.back().last = i;
    stretches.push_back({i, track.size()});
  }
  return true;
}

}  // namespace

TrackOrder::TrackOrder(const Trace& trace) {
  if (find_stretches(trace, stretches_)) return;
  stretches_.clear();
  const std::vector<std::uint32_t>& track = trace.spans.track;
  std::vector<std::uint32_t> next(trace.tracks.size() + 1);
  for (const std::uint32_t t : track) ++next[t + 1];
  for (std::size_t t = 1; t < next.size(); ++t) {
    next[t] += next[t - 1];
    if (next[t] > next[t - 1]) stretches_.push_back({next[t - 1], next[t]});
  }
  order_.resize(track.size());
  for (std::size_t i = 0; i < track.size(); ++i) {
    order_[next[track[i]]++] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace genscope::analysis
