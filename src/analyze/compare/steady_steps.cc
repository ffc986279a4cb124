#include "analyze/compare/steady_steps.h"

#include <algorithm>
#include <span>

#include "analyze/percentile.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kMostWarmup = 2;
constexpr std::size_t kShortestLoop = 4;
constexpr double kWarmupRatio = 1.5;
constexpr int kMaxClimb = 16;  // so that deep recursion does not make the pass quadratic

bool is_wrapper(SpanKind kind) noexcept {
  return kind == SpanKind::none || kind == SpanKind::forward || kind == SpanKind::task ||
         kind == SpanKind::function;
}

// The span that holds the loop of a step, or kNone.
std::uint32_t loop_around(const Trace& trace, std::size_t step) {
  std::uint32_t at = trace.spans.parent[step];
  for (int level = 0; level < kMaxClimb && at < trace.spans.size(); ++level) {
    if (!is_wrapper(trace.kind(at))) return at;
    at = trace.spans.parent[at];
  }
  return kNone;
}

// How many of a loop's steps, in the order of time, are warm-up.
std::size_t warmup_of(std::span<const std::int64_t> steps) {
  if (steps.size() < kShortestLoop) return 0;
  std::vector<std::int64_t> later(steps.begin() + kMostWarmup, steps.end());
  const auto middle = later.begin() + static_cast<std::ptrdiff_t>(nearest_rank(later.size(), 50));
  std::nth_element(later.begin(), middle, later.end());
  const double limit = static_cast<double>(*middle) * kWarmupRatio;
  std::size_t slow = 0;
  while (slow<kMostWarmup&& static_cast<double>(steps[slow])> limit) ++slow;
  return slow;
}

// The loops of one process.
class Loops {
 public:
  explicit Loops(const Trace& trace)
      : trace_(trace), in_span_(trace.spans.size(), kNone), on_track_(trace.tracks.size(), kNone) {
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) == SpanKind::step) add(i);
    }
  }

  void take_steady(std::vector<std::int64_t>& out) const {
    std::vector<std::int64_t> shorts;
    for (const Loop& loop : loops_) {
      if (loop.steps.size() < kShortestLoop) {
        shorts.insert(shorts.end(), loop.steps.begin(), loop.steps.end());
      } else {
        append(loop.steps, out);
      }
    }
    append(shorts, out);
  }

  // Whether all loops have `length` steps, which the first of all loops sets, and lie in spans.
  bool even(std::optional<std::uint64_t>& length) const {
    return std::all_of(loops_.begin(), loops_.end(), [&](const Loop& loop) {
      if (!length) length = loop.count;
      return loop.in_span && loop.count == *length;
    });
  }

 private:
  struct Loop {
    std::vector<std::int64_t> steps;  // those that count
    std::uint64_t count = 0;          // all
    bool in_span = false;
  };

  void add(std::size_t step) {
    const std::uint32_t around = loop_around(trace_, step);
    const std::uint32_t track = trace_.spans.track[step];
    if (around == kNone && track >= on_track_.size()) return;
    std::uint32_t& index = around != kNone ? in_span_[around] : on_track_[track];
    if (index == kNone) {
      index = static_cast<std::uint32_t>(loops_.size());
      loops_.emplace_back().in_span = around != kNone;
    }
    Loop& loop = loops_[index];
    ++loop.count;
    if ((trace_.spans.flags[step] & (kSpanFailed | kSpanUnfinished | kSpanClipped)) != 0) return;
    loop.steps.push_back(
        interval(trace_.spans.begin_ns[step], trace_.spans.duration_ns[step]).length());
  }

  static void append(const std::vector<std::int64_t>& steps, std::vector<std::int64_t>& out) {
    const auto skipped = static_cast<std::ptrdiff_t>(warmup_of(steps));
    out.insert(out.end(), steps.begin() + skipped, steps.end());
  }

  const Trace& trace_;
  std::vector<Loop> loops_;              // in the order of their first steps
  std::vector<std::uint32_t> in_span_;   // per span its loop, or kNone
  std::vector<std::uint32_t> on_track_;  // per track
};

}  // namespace

SteadySteps steady_steps(const Run& run) {
  SteadySteps result;
  bool even = true;
  for (const Trace& trace : run.traces) {
    const bool any = std::any_of(trace.names.begin(), trace.names.end(),
                                 [](const Name& name) { return name.kind == SpanKind::step; });
    if (!any) continue;
    const Loops loops(trace);
    loops.take_steady(result.durations_ns);
    even = even && loops.even(result.per_loop);
  }
  if (!even) result.per_loop.reset();
  return result;
}

}  // namespace genscope::analysis
