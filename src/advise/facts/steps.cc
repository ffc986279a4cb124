#include <algorithm>
#include <map>
#include <numeric>

#include <genscope/statistics.h>

#include "advise/facts/parts.h"

namespace genscope::advice {
namespace {

constexpr double kShort = 0.5;
constexpr std::size_t kSplits = 16, kMinHalf = 4;

// The nearest step around a span, or kNone.
std::uint32_t step_around(const Trace& trace, std::uint32_t span) {
  std::uint32_t at = trace.spans.parent[span];
  while (at != kNone && trace.kind(at) != SpanKind::step) at = trace.spans.parent[at];
  return at;
}

// The greatest rise of the median from what is before a moment to what is after it.
double jump(std::span<const double> ms) {
  double greatest = 1;
  for (std::size_t i = 1; i < kSplits; ++i) {
    const std::size_t at = ms.size() * i / kSplits;
    if (at < kMinHalf || ms.size() - at < kMinHalf) continue;
    const auto before = stats::quantile(ms.first(at), 0.5);
    const auto after = stats::quantile(ms.subspan(at), 0.5);
    if (before && after && *before > 0) greatest = std::max(greatest, *after / *before);
  }
  return greatest;
}

// Of the process that has most steps; `median_ms` is the run's.
void shape_facts(const Steps& steps, double median_ms, Facts& facts) {
  const auto count = [&](auto&& is) {
    return static_cast<double>(std::count_if(steps.ms.begin(), steps.ms.end(), is));
  };
  const auto outlier = [&](double ms) { return ms > StepSummary::kOutlierRatio * median_ms; };
  facts.set("step.outliers", count(outlier));
  facts.set("step.outlier_first", outlier(steps.ms.front()));
  facts.set("step.outlier_mid", count(outlier) - (outlier(steps.ms.front()) ? 1 : 0) -
                                    (outlier(steps.ms.back()) ? 1 : 0));
  facts.set("step.short", count([&](double ms) { return ms < kShort * median_ms; }));
  if (steps.ms.size() > 1) facts.set("step.second", steps.ms[1] / median_ms);
  facts.set("step.jump", jump(steps.steady_ms()));
}

void trend_fact(const StepSummary& summary, Facts& facts) {
  if (const std::optional<Slope>& trend = summary.trend_percent_per_100) {
    facts.set("step.trend", trend->flat() ? 0.0 : trend->value);
  } else {
    facts.set_missing("step.trend", "fewer than five steady steps");
  }
}

// What lies inside the steps: calls of the denoiser, and the scheduler's share.
void inside_facts(const Trace& trace, const Steps& steps, Facts& facts) {
  std::map<std::uint32_t, double> forwards;
  for (const std::uint32_t span : steps.spans) forwards[span] = 0;
  double scheduler_ms = 0;
  bool any_forward = false, any_scheduler = false;
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    const bool forward = trace.kind(i) == SpanKind::forward;
    const bool scheduler = trace.span_name(i).find("scheduler") != std::string::npos;
    if (!forward && !scheduler) continue;
    const auto in = forwards.find(step_around(trace, i));
    if (in == forwards.end()) continue;
    if (forward) in->second += 1;
    if (scheduler) scheduler_ms += static_cast<double>(trace.spans.duration_ns[i]) / 1e6;
    any_forward |= forward;
    any_scheduler |= scheduler;
  }
  if (any_forward) {
    std::vector<double> counts;
    for (const auto& [span, count] : forwards) counts.push_back(count);
    facts.set("fwd.per_step", *stats::quantile(counts, 0.5));
  } else {
    facts.set_missing("fwd.per_step", "no forward pass was marked in a step");
  }
  const double total = std::accumulate(steps.ms.begin(), steps.ms.end(), 0.0);
  if (any_scheduler && total > 0) facts.set("step.scheduler_share", scheduler_ms / total);
}

}  // namespace

Steps find_steps(const Run& run, const Analysis& analysis) {
  Steps best;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::vector<std::uint32_t> spans;
    for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
      const bool finished = (trace.spans.flags[i] & kSpanUnfinished) == 0;
      if (finished && trace.kind(i) == SpanKind::step) spans.push_back(i);
    }
    if (spans.size() <= best.spans.size()) continue;
    best.trace = t;
    best.spans = std::move(spans);
  }
  if (best.spans.empty()) return best;
  const SpanColumns& spans = run.traces[best.trace].spans;
  std::sort(best.spans.begin(), best.spans.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(spans.begin_ns[a], a) < std::pair(spans.begin_ns[b], b);
  });
  const std::int64_t offset =
      best.trace < analysis.clock_offset_ns.size() ? analysis.clock_offset_ns[best.trace] : 0;
  for (const std::uint32_t i : best.spans) {
    best.ms.push_back(static_cast<double>(spans.duration_ns[i]) / 1e6);
    best.all.end_ns = std::max(best.all.end_ns, spans.begin_ns[i] + spans.duration_ns[i] + offset);
  }
  best.all.begin_ns = spans.begin_ns[best.spans.front()] + offset;
  const std::size_t first_steady = std::min(Steps::kFirstSteady, best.spans.size() - 1);
  best.steady = {spans.begin_ns[best.spans[first_steady]] + offset, best.all.end_ns};
  return best;
}

void step_facts(const Run& run, const Analysis& analysis, const Steps& steps, Facts& facts) {
  const StepSummary& summary = analysis.steps;
  facts.set("step.count", static_cast<double>(summary.count));
  if (!steps.ms.empty()) inside_facts(run.traces[steps.trace], steps, facts);
  const std::int64_t median_ns = summary.steady_p50_ns.value_or(0);
  if (summary.steady_count < StepSummary::kMinSteady || median_ns <= 0) {
    for (const char* name : {"step.med", "step.first", "step.cv", "step.trend", "step.outliers"}) {
      facts.set_missing(
          name, summary.count == 0 ? "no step was marked" : "fewer than three steady steps");
    }
    return;
  }
  const double median_ms = static_cast<double>(median_ns) / 1e6;
  facts.set("step.med", median_ms);
  facts.set("step.first", static_cast<double>(summary.first_ns) / static_cast<double>(median_ns));
  if (summary.steady_cv) facts.set("step.cv", *summary.steady_cv);
  trend_fact(summary, facts);
  if (!steps.ms.empty()) {
    shape_facts(steps, median_ms, facts);
  } else {
    facts.set_missing("step.outliers", "the steps were told as events, not marked");
  }
}

}  // namespace genscope::advice
