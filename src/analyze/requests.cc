#include <algorithm>

#include "analyze/generation.h"
#include "analyze/percentile.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Outcomes {
  std::uint64_t failed = 0;
  std::vector<std::int64_t> good_ns;
  // Of the ones that did not fail, the last to end.
  std::int64_t last_end_ns = kEarliest;
  std::size_t last_good = 0;  // index into good_ns
};

void add_trace(const Trace& trace, std::int64_t offset, SpanKind kind, Outcomes& out) {
  std::vector<bool> wanted;
  bool any = false;
  for (const Name& name : trace.names) {
    wanted.push_back(name.kind == kind);
    any |= wanted.back();
  }
  const bool died = !trace.integrity.closed && !trace.integrity.in_progress;
  const SpanColumns& spans = trace.spans;
  for (std::size_t i = 0; any && i < spans.size(); ++i) {
    if (!wanted[spans.name[i]]) continue;
    const bool open = (spans.flags[i] & kSpanUnfinished) != 0;
    if (open && !died) continue;
    if (open || (spans.flags[i] & kSpanFailed) != 0) {
      ++out.failed;
      continue;
    }
    const Interval time = interval(add(spans.begin_ns[i], offset), spans.duration_ns[i]);
    if (time.end >= out.last_end_ns) {
      out.last_end_ns = time.end;
      out.last_good = out.good_ns.size();
    }
    out.good_ns.push_back(time.length());
  }
}

Outcomes outcomes(const Run& run, const Clocks& clocks, SpanKind kind) {
  Outcomes out;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    add_trace(run.traces[t], clocks.offset_ns[t], kind, out);
  }
  return out;
}

}  // namespace

RequestSummary summarize_requests(const Run& run, const Clocks& clocks) {
  RequestSummary summary;
  Outcomes all = outcomes(run, clocks, SpanKind::request);
  if (all.failed + all.good_ns.size() == 0) {
    summary.sessions = true;
    all = outcomes(run, clocks, SpanKind::session);
    // A session cannot see the exception that ends its program; the exit code can.
    if (run.exit_code.value_or(0) != 0 && all.failed == 0 && !all.good_ns.empty()) {
      all.good_ns.erase(all.good_ns.begin() + static_cast<std::ptrdiff_t>(all.last_good));
      all.failed = 1;
    }
  }
  summary.failed = all.failed;
  summary.count = all.failed + all.good_ns.size();
  if (summary.count == 0) return summary;
  summary.success_ratio =
      static_cast<double>(all.good_ns.size()) / static_cast<double>(summary.count);
  if (all.good_ns.empty()) return summary;
  std::sort(all.good_ns.begin(), all.good_ns.end());
  summary.p50_ns = all.good_ns[nearest_rank(all.good_ns.size(), 50)];
  summary.p95_ns = all.good_ns[nearest_rank(all.good_ns.size(), 95)];
  summary.max_ns = all.good_ns.back();
  return summary;
}

}  // namespace genscope::analysis
