// One pass in the order of begins, track by track, gives total and self time of every row.
//
// Self time: each span gives its length to its row, and takes the part within its parent away from
// the parent's row. Stack children of a span are disjoint, so their parts simply add up. Children
// of a detached span may overlap one another: these are collected, sorted by parent and begin, and
// their union is taken. Sessions are left to take_roots_from_sessions(), because theirs is the time
// in which no thread of the process was in any span.
//
// Total time: what stack spans of a row cover of a track, each instant once. Begins ascend on a
// track, so one end for each row is all that Coverage has to remember, and a row that recurs on
// another track begins anew. Memory: a few words for each row, nothing for a span but the loose
// children. Linear but for the sort of those.
#include "analyze/row_sums.h"

#include <algorithm>

#include "analyze/sessions.h"
#include "analyze/track_order.h"

namespace genscope::analysis {
namespace {

class Pass {
 public:
  Pass(const Trace& trace, const std::vector<std::uint32_t>& row_of, std::vector<RowSums>& sums)
      : trace_(trace),
        spans_(trace.spans),
        row_of_(row_of),
        sums_(sums),
        covered_(sums.size()),
        order_(trace) {}

  void run() {
    for (std::size_t place = 0; place < spans_.size(); ++place) visit(order_[place]);
    take_loose_children();
    take_roots_from_sessions(trace_, order_, row_of_, sums_);
  }

 private:
  // What stack spans of a row have covered of the track now visited.
  struct Covered {
    std::uint32_t track = kNone;
    Coverage coverage;
  };

  Interval at(std::size_t span) const noexcept {
    return interval(spans_.begin_ns[span], spans_.duration_ns[span]);
  }
  RowSums& row(std::size_t span) noexcept { return sums_[row_of_[spans_.name[span]]]; }
  bool has(std::size_t span, SpanFlag flag) const noexcept {
    return (spans_.flags[span] & flag) != 0;
  }

  void visit(std::size_t span) {
    const std::uint32_t row_index = row_of_[spans_.name[span]];
    RowSums& sums = sums_[row_index];
    const Interval here = at(span);
    const std::int64_t length = here.length();
    if (has(span, kSpanUnfinished)) {
      ++sums.unfinished;
    } else {
      ++sums.count;
      sums.sum_ns = add(sums.sum_ns, length);
      sums.min_ns = std::min(sums.min_ns, length);
      sums.max_ns = std::max(sums.max_ns, length);
      if (is_long(length)) ++sums.long_count;
      if (has(span, kSpanFailed)) ++sums.failed;
    }
    sums.self_ns = add(sums.self_ns, length);

    const std::uint32_t parent = spans_.parent[span];
    const bool has_parent = parent < span;  // kNone is not
    if (has(span, kSpanDetached)) {
      std::int64_t counted = length;
      if (has_parent && row_of_[spans_.name[parent]] == row_index) {
        counted -= overlap(here, at(parent));
      }
      sums.total_ns = add(sums.total_ns, counted);
    } else {
      sums.total_ns = add(sums.total_ns, newly_covered(row_index, spans_.track[span], here));
    }
    if (has_parent) take_from_parent(span, parent, here);
  }

  std::int64_t newly_covered(std::uint32_t row_index, std::uint32_t track, Interval here) noexcept {
    Covered& covered = covered_[row_index];
    if (covered.track != track) covered = {track, {}};
    return covered.coverage.add(here);
  }

  void take_from_parent(std::size_t span, std::uint32_t parent, Interval here) {
    if (is_process_wide(trace_, parent)) return;  // see take_roots_from_sessions
    if (has(parent, kSpanDetached)) {
      loose_.push_back(static_cast<std::uint32_t>(span));
    } else if (!has(span, kSpanDetached) && spans_.track[span] == spans_.track[parent]) {
      RowSums& above = row(parent);
      above.self_ns = subtract(above.self_ns, overlap(here, at(parent)));
    }
  }

  // Children of detached parents may overlap: their union, clipped to the parent, is taken.
  void take_loose_children() {
    std::sort(loose_.begin(), loose_.end(), [&](std::uint32_t a, std::uint32_t b) {
      if (spans_.parent[a] != spans_.parent[b]) return spans_.parent[a] < spans_.parent[b];
      return spans_.begin_ns[a] < spans_.begin_ns[b];
    });
    std::uint32_t parent = kNone;
    Coverage coverage;
    for (const std::uint32_t child : loose_) {
      if (spans_.parent[child] != parent) {
        parent = spans_.parent[child];
        coverage = {};
      }
      const Interval outer = at(parent);
      const Interval inner = at(child);
      RowSums& above = row(parent);
      above.self_ns = subtract(above.self_ns, coverage.add({std::max(inner.begin, outer.begin),
                                                            std::min(inner.end, outer.end)}));
    }
  }

  const Trace& trace_;
  const SpanColumns& spans_;
  const std::vector<std::uint32_t>& row_of_;
  std::vector<RowSums>& sums_;
  std::vector<Covered> covered_;  // per row
  TrackOrder order_;
  std::vector<std::uint32_t> loose_;
};

}  // namespace

void add_spans(const Trace& trace, const std::vector<std::uint32_t>& row_of,
               std::vector<RowSums>& sums) {
  Pass(trace, row_of, sums).run();
}

}  // namespace genscope::analysis
