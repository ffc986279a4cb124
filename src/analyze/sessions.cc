// A session spans its whole process, so its self time is the time in which no thread had anything
// open: the union of the outermost spans of all tracks, within the session. The tracks are in the
// order of time already, so their outermost spans are merged by a heap of one head per track; what
// each adds to the union is taken off. n log(tracks) for n outermost spans.
#include "analyze/sessions.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace genscope::analysis {
namespace {

// Without a parent, or directly under a session.
bool is_outermost(const Trace& trace, std::size_t span) {
  const std::uint32_t parent = trace.spans.parent[span];
  return parent >= span || is_process_wide(trace, parent);
}

std::vector<std::uint32_t> find_sessions(const Trace& trace) {
  std::vector<bool> may_be(trace.names.size());
  bool any = false;
  for (std::size_t n = 0; n < trace.names.size(); ++n) {
    may_be[n] = trace.names[n].kind == SpanKind::session;
    any |= may_be[n];
  }
  std::vector<std::uint32_t> sessions;
  for (std::size_t i = 0; any && i < trace.spans.size(); ++i) {
    if (may_be[trace.spans.name[i]] && is_process_wide(trace, i)) {
      sessions.push_back(static_cast<std::uint32_t>(i));
    }
  }
  std::sort(sessions.begin(), sessions.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.spans.begin_ns[a] < trace.spans.begin_ns[b];
  });
  return sessions;
}

// The roots of a trace, in the order of their begins: a merge of the tracks, each of which is in
// that order already.
class RootMerge {
 public:
  RootMerge(const Trace& trace, const TrackOrder& order) : trace_(trace), order_(order) {
    for (const TrackOrder::Stretch& stretch : order.stretches()) push_from(stretch);
  }

  bool empty() const { return heads_.empty(); }

  std::size_t pop() {
    const Head head = heads_.top();
    heads_.pop();
    push_from({head.rest.first + 1, head.rest.last});
    return order_[head.rest.first];
  }

 private:
  struct Head {
    std::int64_t begin_ns = 0;
    TrackOrder::Stretch rest;  // from the root on
    bool operator<(const Head& other) const { return begin_ns > other.begin_ns; }
  };

  void push_from(TrackOrder::Stretch rest) {
    while (rest.first < rest.last) {
      const std::size_t span = order_[rest.first];
      if (is_outermost(trace_, span) && !is_process_wide(trace_, span)) {
        heads_.push({trace_.spans.begin_ns[span], rest});
        return;
      }
      ++rest.first;
    }
  }

  const Trace& trace_;
  const TrackOrder& order_;
  std::priority_queue<Head> heads_;
};

}  // namespace

bool is_process_wide(const Trace& trace, std::size_t span) {
  return (trace.spans.flags[span] & kSpanDetached) != 0 && trace.spans.parent[span] >= span &&
         trace.kind(span) == SpanKind::session;
}

void take_roots_from_sessions(const Trace& trace, const TrackOrder& order,
                              const std::vector<std::uint32_t>& row_of,
                              std::vector<RowSums>& sums) {
  const std::vector<std::uint32_t> sessions = find_sessions(trace);
  if (sessions.empty()) return;
  const SpanColumns& spans = trace.spans;
  const auto at = [&](std::size_t span) {
    return interval(spans.begin_ns[span], spans.duration_ns[span]);
  };
  std::size_t current = 0;
  Coverage coverage;
  for (RootMerge roots(trace, order); !roots.empty();) {
    const Interval root = at(roots.pop());
    while (current + 1 < sessions.size() && spans.begin_ns[sessions[current + 1]] <= root.begin) {
      ++current;
      coverage = {};
    }
    const Interval session = at(sessions[current]);
    RowSums& row = sums[row_of[spans.name[sessions[current]]]];
    row.self_ns = subtract(row.self_ns, coverage.add({std::max(root.begin, session.begin),
                                                      std::min(root.end, session.end)}));
  }
}

}  // namespace genscope::analysis
