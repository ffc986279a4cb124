// Which lane of a trace file holds which part of a Trace: the plan that write_trace follows.
//
// A lane is a row of the file: its records ascend in time, and the scoped spans in it nest as on a
// stack. Most tracks are a lane of their own. A guest is a named track whose spans stand between
// those of another track, as begin(..., track) records them; its spans stay there and carry the
// track's name as an argument, so that a trace that was read comes out in the same order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "genscope/trace.h"

namespace genscope::store {

// Rows of a column, grouped by lane and ascending in time within each.
struct LaneRows {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> first;  // per lane, where its rows begin; one more at the end
  std::span<const std::uint32_t> of(std::size_t lane) const {
    return std::span(rows).subspan(first[lane], first[lane + 1] - first[lane]);
  }
};

struct LanePlan {
  std::vector<std::uint32_t> track_of_lane;  // lane i is written as lane i + 1: 0 is the process's
  std::vector<std::uint32_t> lane_of_track;  // kNone for a guest
  LaneRows spans, events, counters;
  // A span or event refers to a span that comes later in the file: ids must be known beforehand.
  bool forward_references = false;

  bool is_guest(std::uint32_t track) const { return lane_of_track[track] == kNone; }
};

// `trace` is consistent: see check_columns.
LanePlan plan_lanes(const Trace& trace);

}  // namespace genscope::store
