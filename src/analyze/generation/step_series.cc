// The steps of all processes in one order of time, each with its loop and whether it warms up.
//
// Steps come track by track, each track in order, so sorting is merging a few runs (order_by_time).
// A loop is the steps under one parent; loops of fewer than kShortestLoop steps say nothing by
// themselves and are taken together, one series for a process.
//
// Warm-up is what a loop begins with, at most two steps, each longer than kWarmupRatio times the
// median of the steps after the second. The median is of the rest and not of all, so that a loop of
// four with two slow ones is seen; and a loop that is slow throughout has no warm-up. Failed steps
// are in no figure. Linear but for the merges: n log(tracks).
#include "analyze/generation/step_series.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <genscope/analyze.h>

#include "analyze/generation/keys.h"
#include "analyze/generation/roles.h"
#include "analyze/percentile.h"

namespace genscope::analysis {
namespace {

// Numbers the loops. Neighbouring steps are mostly of one loop, so that few are looked up.
class Loops {
 public:
  explicit Loops(std::vector<std::uint32_t>& trace_of_loop) : trace_of_loop_(trace_of_loop) {}

  void begin_trace(std::size_t trace) {
    trace_ = static_cast<std::uint32_t>(trace);
    known_.clear();
    last_ = kNoLoop;
  }

  // `around`: the span that the loop is in; kNone: it is on the track itself.
  std::uint32_t loop(std::uint32_t around, std::uint32_t track) {
    const std::uint64_t key =
        around != kNone ? around : (std::uint64_t{1} << 32) + std::uint64_t{track};
    if (last_ != kNoLoop && key == last_key_) return last_;
    const auto next = static_cast<std::uint32_t>(trace_of_loop_.size());
    const auto [at, is_new] = known_.try_emplace(key, next);
    if (is_new) trace_of_loop_.push_back(trace_);
    last_key_ = key;
    last_ = at->second;
    return last_;
  }

 private:
  static constexpr std::uint32_t kNoLoop = 0xFFFFFFFF;
  std::vector<std::uint32_t>& trace_of_loop_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
  std::uint32_t trace_ = 0, last_ = kNoLoop;
  std::uint64_t last_key_ = 0;
};

// False if the trace has no span of kind step.
bool add_spans(const Trace& trace, std::int64_t offset, Loops& loops,
               std::vector<StepPoint>& steps) {
  std::vector<bool> is_step;
  for (const Name& name : trace.names) is_step.push_back(name.kind == SpanKind::step);
  const SpanColumns& spans = trace.spans;
  bool any = false;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!is_step[spans.name[i]]) continue;
    any = true;
    if ((spans.flags[i] & kSpanUnfinished) != 0) continue;
    const std::uint32_t around =
        nearest_around(trace, i, [&](std::uint32_t s) { return !is_wrapper(trace.kind(s)); });
    StepPoint point;
    point.begin_ns = add(spans.begin_ns[i], offset);
    point.duration_ns = interval(spans.begin_ns[i], spans.duration_ns[i]).length();
    point.loop = loops.loop(around, spans.track[i]);
    point.span = static_cast<std::uint32_t>(i);
    point.failed = (spans.flags[i] & kSpanFailed) != 0;
    steps.push_back(point);
  }
  return any;
}

void add_events(const Trace& trace, std::int64_t offset, Loops& loops,
                std::vector<StepPoint>& steps) {
  const std::vector<EventRole> roles = event_roles(trace);
  ArgCursor args(trace, trace.event_args);
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    if (roles[trace.events.name[e]] != EventRole::diffusion_step) continue;
    args.seek(e);
    const std::optional<double> ms = args.amount(Key::ms);
    if (!ms) continue;
    StepPoint point;
    point.duration_ns = from_ms(*ms);
    point.begin_ns = subtract(add(trace.events.at_ns[e], offset), point.duration_ns);
    point.loop = loops.loop(trace.events.span[e], trace.events.track[e]);
    steps.push_back(point);
  }
}

// Stable. The steps are a few runs, one per track, each in order: neighbours are merged until one
// is left.
void order_by_time(std::vector<StepPoint>& steps) {
  const auto earlier = [](const StepPoint& a, const StepPoint& b) {
    return a.begin_ns < b.begin_ns;
  };
  std::vector<std::size_t> starts = {0};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (earlier(steps[i], steps[i - 1])) starts.push_back(i);
  }
  starts.push_back(steps.size());
  const auto at = [&](std::size_t place) {
    return steps.begin() + static_cast<std::ptrdiff_t>(place);
  };
  while (starts.size() > 2) {
    std::vector<std::size_t> merged = {0};
    for (std::size_t i = 0; i + 2 < starts.size(); i += 2) {
      std::inplace_merge(at(starts[i]), at(starts[i + 1]), at(starts[i + 2]), earlier);
      merged.push_back(starts[i + 2]);
    }
    if (merged.back() != steps.size()) merged.push_back(steps.size());
    starts = std::move(merged);
  }
}

// Gives the steps of each process's short loops one loop of their own.
void join_short_loops(StepSeries& series, std::size_t traces) {
  std::vector<std::uint64_t> counts(series.trace_of_loop.size());
  for (const StepPoint& step : series.steps) ++counts[step.loop];
  std::vector<std::uint32_t> joined(traces, kNone);
  std::vector<std::uint32_t> loop_of(counts.size());
  for (std::uint32_t loop = 0; loop < counts.size(); ++loop) {
    loop_of[loop] = loop;
    if (counts[loop] >= StepSummary::kShortestLoop) continue;
    std::uint32_t& home = joined[series.trace_of_loop[loop]];
    if (home == kNone) home = loop;
    loop_of[loop] = home;
  }
  for (StepPoint& step : series.steps) step.loop = loop_of[step.loop];
}

// How many of a loop's steps, given in the order of time, are warm-up. Reorders them.
std::uint32_t leading_slow(std::span<std::int64_t> steps) {
  constexpr std::size_t kMost = 2;
  if (steps.size() < StepSummary::kShortestLoop) return 0;
  const std::span<std::int64_t> later = steps.subspan(kMost);
  const auto middle = later.begin() + static_cast<std::ptrdiff_t>(nearest_rank(later.size(), 50));
  std::nth_element(later.begin(), middle, later.end());
  const double limit = static_cast<double>(*middle) * StepSummary::kWarmupRatio;
  std::uint32_t slow = 0;
  while (slow<kMost&& static_cast<double>(steps[slow])> limit) ++slow;
  return slow;
}

void mark_warmup(StepSeries& series) {
  std::vector<std::size_t> starts(series.trace_of_loop.size() + 1);
  for (const StepPoint& step : series.steps) {
    if (!step.failed) ++starts[step.loop + 1];
  }
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  std::vector<std::int64_t> durations(starts.back());
  std::vector<std::size_t> next = starts;
  for (const StepPoint& step : series.steps) {
    if (!step.failed) durations[next[step.loop]++] = step.duration_ns;
  }
  std::vector<std::uint32_t> left(series.trace_of_loop.size());
  for (std::size_t loop = 0; loop < left.size(); ++loop) {
    left[loop] =
        leading_slow(std::span(durations).subspan(starts[loop], starts[loop + 1] - starts[loop]));
  }
  for (StepPoint& step : series.steps) {
    if (step.failed || left[step.loop] == 0) continue;
    step.warmup = true;
    --left[step.loop];
  }
}

}  // namespace

StepSeries step_series(const Run& run, std::span<const std::int64_t> clock_offset_ns) {
  StepSeries series;
  Loops loops(series.trace_of_loop);
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    loops.begin_trace(t);
    const Trace& trace = run.traces[t];
    if (!add_spans(trace, clock_offset_ns[t], loops, series.steps)) {
      add_events(trace, clock_offset_ns[t], loops, series.steps);
    }
  }
  order_by_time(series.steps);
  join_short_loops(series, run.traces.size());
  mark_warmup(series);
  return series;
}

Interval steady_stretch(const StepSeries& series) noexcept {
  Interval stretch;
  bool any = false;
  for (const StepPoint& step : series.steps) {
    if (!step.steady()) continue;
    const Interval time = step.time();
    if (!any) stretch = time;
    stretch.end = std::max(stretch.end, time.end);
    any = true;
  }
  return stretch;
}

std::optional<std::uint32_t> process_with_most_steps(const StepSeries& series) {
  std::vector<std::size_t> of_loop(series.trace_of_loop.size());
  for (const StepPoint& step : series.steps) ++of_loop[step.loop];
  std::map<std::uint32_t, std::size_t> of_trace;
  for (std::size_t loop = 0; loop < of_loop.size(); ++loop) {
    of_trace[series.trace_of_loop[loop]] += of_loop[loop];
  }
  const auto most =
      std::max_element(of_trace.begin(), of_trace.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == of_trace.end() || most->second == 0 ? std::nullopt : std::optional(most->first);
}

}  // namespace genscope::analysis
