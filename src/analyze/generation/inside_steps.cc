// What lies inside the steps of the process that has most of them: scheduler, hooks, and the shapes
// that the denoiser gets. One pass, and only where a name asks for it; 4 bytes a span.
#include <algorithm>
#include <optional>

#include "analyze/generation/roles.h"
#include "analyze/generation/steps.h"
#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

struct NameUse {
  bool scheduler = false, hook = false, forward = false;
  bool any() const noexcept { return scheduler || hook || forward; }
};

std::vector<NameUse> uses_of_names(const Trace& trace) {
  std::vector<NameUse> uses;
  uses.reserve(trace.names.size());
  for (const Name& name : trace.names) {
    uses.push_back({.scheduler = name.text.find("scheduler") != std::string::npos,
                    .hook = name.text.find("hook") != std::string::npos,
                    .forward = name.kind == SpanKind::forward});
  }
  return uses;
}

// For each span the step around it, itself included: its place in the series; or kNone.
class StepAround {
 public:
  StepAround(const Trace& trace, const StepSeries& series, std::uint32_t trace_index)
      : trace_(trace), place_(trace.spans.size(), kNone) {
    for (std::uint32_t s = 0; s < series.steps.size(); ++s) {
      const StepPoint& step = series.steps[s];
      if (step.span != kNone && series.trace_of_loop[step.loop] == trace_index) {
        place_[step.span] = s;
      }
    }
    for (std::uint32_t i = 0; i < place_.size(); ++i) {
      if (place_[i] == kNone) place_[i] = around(i);
    }
  }
  std::uint32_t around(std::uint32_t span) const {
    const std::uint32_t parent = trace_.spans.parent[span];
    if (parent == kNone) return kNone;
    if (parent < span) return place_[parent];
    const std::uint32_t step =  // a detached span may stand before what it is in
        nearest_around(trace_, span, [&](std::uint32_t s) { return place_[s] != kNone; });
    return step == kNone ? kNone : place_[step];
  }

 private:
  const Trace& trace_;
  std::vector<std::uint32_t> place_;
};

}  // namespace

void add_inside_steps(const Run& run, const StepSeries& series, StepSummary& summary) {
  const std::optional<std::uint32_t> main = process_with_most_steps(series);
  if (!main) return;
  const Trace& trace = run.traces[*main];
  const std::vector<NameUse> uses = uses_of_names(trace);
  if (std::none_of(uses.begin(), uses.end(), [](const NameUse& use) { return use.any(); })) return;
  const bool says_shapes = std::any_of(trace.names.begin(), trace.names.end(),
                                       [](const Name& name) { return name.text == "shape"; });
  const StepAround steps(trace, series, *main);
  const bool judged = summary.slow_count.has_value();
  const double slow_ns =
      judged ? StepSummary::kOutlierRatio * static_cast<double>(*summary.steady_p50_ns) : 0;

  double scheduler_ns = 0, hook_ns = 0;
  bool any_scheduler = false, any_hook = false;
  std::uint64_t changes = 0, slow = 0;
  std::optional<trace::ArgValue> last_shape;
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    const NameUse use = uses[trace.spans.name[i]];
    if (!use.any()) continue;
    const std::uint32_t step = steps.around(i);
    const auto ns = static_cast<double>(trace.spans.duration_ns[i]);
    if (step != kNone) {
      any_scheduler |= use.scheduler;
      any_hook |= use.hook;
      if (use.scheduler) scheduler_ns += ns;
      if (use.hook) hook_ns += ns;
    }
    if (!use.forward || !says_shapes) continue;
    std::optional<trace::ArgValue> shape = trace::argument(trace, trace.span_args, i, "shape");
    if (!shape) continue;
    if (last_shape && *last_shape != *shape) {
      ++changes;
      const bool is_slow =
          step != kNone && judged && static_cast<double>(series.steps[step].duration_ns) > slow_ns;
      slow += is_slow ? 1 : 0;
    }
    last_shape = std::move(shape);
  }
  double total_ns = 0;
  for (const StepPoint& step : series.steps) {
    if (series.trace_of_loop[step.loop] == *main) total_ns += static_cast<double>(step.duration_ns);
  }
  if (any_scheduler && total_ns > 0) summary.scheduler_share = scheduler_ns / total_ns;
  if (any_hook && total_ns > 0) summary.hook_share = hook_ns / total_ns;
  if (!last_shape) return;
  summary.shape_changes = changes;
  if (judged) summary.slow_at_shape_count = slow;
}

}  // namespace genscope::analysis
