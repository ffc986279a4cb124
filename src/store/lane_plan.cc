// A lane is the stack of one thread; a Trace has tracks, of which some never had a stack of their
// own (named tracks, imported streams). A track whose spans stand between those of another, or have
// a stack parent on another, is a guest: its spans are written into the lane of the span before
// them and carry their track as an argument. Every other track is a lane of its own.
//
// Rows are grouped by lane with a counting sort, then each lane is sorted by time only if it is not
// so already: linear for what the recorder wrote. Words refer to spans by ids that exist once a
// span is written, so a parent or an event's span that comes later in the plan means that ids must
// be dealt out in a first round: refers_forward() says so.
#include "store/lane_plan.h"

#include <algorithm>

namespace genscope::store {
namespace {

std::vector<bool> find_guests(const Trace& trace) {
  const std::size_t tracks = trace.tracks.size();
  const SpanColumns& s = trace.spans;
  std::vector<bool> guest(tracks, false);
  std::vector<std::uint8_t> seen(tracks, 0);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const std::uint32_t track = s.track[i];
    const bool resumed = seen[track] != 0 && s.track[i - 1] != track;
    const bool stacked_elsewhere =
        (s.flags[i] & kSpanDetached) == 0 && s.parent[i] != kNone && s.track[s.parent[i]] != track;
    if (resumed || stacked_elsewhere) guest[track] = true;
    seen[track] = 1;
  }
  for (std::size_t t = 0; t < tracks; ++t) {
    const TrackInfo& info = trace.tracks[t];
    if (info.tid != 0 || info.dropped_spans + info.dropped_records > 0) guest[t] = false;
  }
  // Events and counters have no track of their own in a lane.
  for (const std::uint32_t track : trace.events.track) guest[track] = false;
  for (const std::uint32_t track : trace.counters.track) guest[track] = false;
  if (tracks > 0 && std::find(guest.begin(), guest.end(), false) == guest.end()) guest[0] = false;
  return guest;
}

// Stable: rows of one lane keep their order, unless time says otherwise.
LaneRows group(const std::vector<std::uint32_t>& lane_of_row,
               const std::vector<std::int64_t>& at_ns, std::size_t lanes) {
  LaneRows out;
  out.first.assign(lanes + 1, 0);
  for (const std::uint32_t lane : lane_of_row) out.first[lane + 1]++;
  for (std::size_t i = 0; i < lanes; ++i) out.first[i + 1] += out.first[i];
  std::vector<std::uint32_t> next(out.first.begin(), out.first.end() - 1);
  out.rows.resize(lane_of_row.size());
  for (std::uint32_t row = 0; row < lane_of_row.size(); ++row) {
    out.rows[next[lane_of_row[row]]++] = row;
  }
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return at_ns[a] < at_ns[b]; };
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const auto begin = out.rows.begin() + out.first[lane];
    const auto end = out.rows.begin() + out.first[lane + 1];
    if (!std::is_sorted(begin, end, earlier)) std::stable_sort(begin, end, earlier);
  }
  return out;
}

std::vector<std::uint32_t> lanes_of_spans(const Trace& trace, const LanePlan& plan) {
  std::vector<std::uint32_t> lane(trace.spans.size());
  std::uint32_t host = 0;  // of guests: the lane of the span before them
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const std::uint32_t own = plan.lane_of_track[trace.spans.track[i]];
    if (own != kNone) host = own;
    lane[i] = host;
  }
  return lane;
}

std::vector<std::uint32_t> lanes_of(const std::vector<std::uint32_t>& track, const LanePlan& plan) {
  std::vector<std::uint32_t> lane(track.size());
  std::transform(track.begin(), track.end(), lane.begin(),
                 [&](std::uint32_t t) { return plan.lane_of_track[t]; });
  return lane;
}

bool refers_forward(const Trace& trace, const LanePlan& plan) {
  std::vector<std::uint32_t> place(trace.spans.size());
  for (std::uint32_t i = 0; i < place.size(); ++i) place[plan.spans.rows[i]] = i;
  for (std::size_t i = 0; i < place.size(); ++i) {
    const std::uint32_t parent = trace.spans.parent[i];
    if (parent != kNone && place[parent] > place[i]) return true;
  }
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    const std::uint32_t span = trace.events.span[e];
    if (span == kNone) continue;
    const std::uint32_t lane = plan.lane_of_track[trace.events.track[e]];
    const bool earlier_lane = place[span] < plan.spans.first[lane];
    const bool begun_in_this = place[span] < plan.spans.first[lane + 1] &&
                               trace.spans.begin_ns[span] <= trace.events.at_ns[e];
    if (!earlier_lane && !begun_in_this) return true;
  }
  return false;
}

}  // namespace

LanePlan plan_lanes(const Trace& trace) {
  LanePlan plan;
  const std::vector<bool> guest = find_guests(trace);
  plan.lane_of_track.assign(guest.size(), kNone);
  for (std::uint32_t track = 0; track < guest.size(); ++track) {
    if (guest[track]) continue;
    plan.lane_of_track[track] = static_cast<std::uint32_t>(plan.track_of_lane.size());
    plan.track_of_lane.push_back(track);
  }
  const std::size_t lanes = plan.track_of_lane.size();
  plan.spans = group(lanes_of_spans(trace, plan), trace.spans.begin_ns, lanes);
  plan.events = group(lanes_of(trace.events.track, plan), trace.events.at_ns, lanes);
  plan.counters = group(lanes_of(trace.counters.track, plan), trace.counters.at_ns, lanes);
  plan.forward_references = refers_forward(trace, plan);
  return plan;
}

}  // namespace genscope::store
