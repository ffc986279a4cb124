// Requests, or sessions where there are no requests. What was open when its process died has
// failed; what is open in a process that still records counts as nothing yet. A session cannot see
// the exception that ends its program: if the run's exit code says that it failed and no session
// does, the one that ended last has.
#include <algorithm>

#include "analyze/generation/generation.h"
#include "analyze/generation/keys.h"
#include "analyze/percentile.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

struct Good {
  Interval time;  // on the run's scale
  std::optional<double> images;
};

struct Outcomes {
  std::uint64_t failed = 0;
  std::vector<Good> good;
};

void add_trace(const Trace& trace, std::int64_t offset, SpanKind kind, Outcomes& out) {
  const bool died = !trace.integrity.closed && !trace.integrity.in_progress;
  const SpanColumns& spans = trace.spans;
  visit_spans(trace, kind, [&](std::size_t i, const ArgCursor& args) {
    const bool open = (spans.flags[i] & kSpanUnfinished) != 0;
    if (open && !died) return;
    if (open || (spans.flags[i] & kSpanFailed) != 0) {
      ++out.failed;
    } else {
      out.good.push_back({interval(add(spans.begin_ns[i], offset), spans.duration_ns[i]),
                          args.amount(Key::images)});
    }
  });
}

Outcomes outcomes(const Run& run, const Clocks& clocks, SpanKind kind) {
  Outcomes out;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    add_trace(run.traces[t], clocks.offset_ns[t], kind, out);
  }
  return out;
}

// A session cannot see the exception that ends its program; the exit code can. The one that ended
// last is the one.
void fail_last(Outcomes& sessions) {
  if (sessions.failed > 0 || sessions.good.empty()) return;
  sessions.good.erase(
      std::max_element(sessions.good.begin(), sessions.good.end(),
                       [](const Good& a, const Good& b) { return a.time.end < b.time.end; }));
  sessions.failed = 1;
}

// A request that does not say makes one; those that make text or sound say 0.
std::optional<std::uint64_t> images_of(const std::vector<Good>& good, bool sessions) {
  double images = 0;
  bool any = false;
  for (const Good& one : good) {
    any |= one.images || !sessions;
    images += one.images.value_or(sessions ? 0 : 1);
  }
  constexpr double kMost = 1e18;
  return any && images > 0 && images < kMost ? std::optional(static_cast<std::uint64_t>(images))
                                             : std::nullopt;
}

void add_target(double target_seconds, const std::vector<std::int64_t>& sorted_ns,
                RequestSummary& summary) {
  if (!(target_seconds > 0)) return;
  const auto met = std::upper_bound(sorted_ns.begin(), sorted_ns.end(), target_seconds,
                                    [](double t, std::int64_t ns) { return t < seconds(ns); });
  summary.target_met_share =
      static_cast<double>(met - sorted_ns.begin()) / static_cast<double>(summary.count);
  if (summary.p50_ns) summary.target_ratio = seconds(*summary.p50_ns) / target_seconds;
}

}  // namespace

RequestSummary summarize_requests(const Run& run, const Clocks& clocks,
                                  std::optional<double> target_seconds) {
  RequestSummary summary;
  Outcomes all = outcomes(run, clocks, SpanKind::request);
  if (all.failed + all.good.size() == 0) {
    summary.sessions = true;
    all = outcomes(run, clocks, SpanKind::session);
    if (run.exit_code.value_or(0) != 0) fail_last(all);
  }
  summary.failed = all.failed;
  summary.count = all.failed + all.good.size();
  if (summary.count == 0) return summary;
  summary.success_ratio = static_cast<double>(all.good.size()) / static_cast<double>(summary.count);
  if (all.good.empty()) {
    if (target_seconds) add_target(*target_seconds, {}, summary);
    return summary;
  }
  summary.images = images_of(all.good, summary.sessions);
  std::vector<std::int64_t> sorted;
  for (const Good& one : all.good) sorted.push_back(one.time.length());
  std::sort(sorted.begin(), sorted.end());
  summary.p50_ns = sorted[nearest_rank(sorted.size(), 50)];
  summary.p95_ns = sorted[nearest_rank(sorted.size(), 95)];
  summary.max_ns = sorted.back();
  if (target_seconds) add_target(*target_seconds, sorted, summary);
  return summary;
}

}  // namespace genscope::analysis
