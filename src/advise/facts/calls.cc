// What lies inside the steps beyond their length: hooks, and the shapes that the denoiser gets.
#include <algorithm>
#include <numeric>

#include "advise/facts/parts.h"

namespace genscope::advice {
namespace {

// Place of the step around a span among `steps`, or kNone.
std::uint32_t step_of(const Trace& trace, std::uint32_t span,
                      const std::vector<std::uint32_t>& place) {
  std::uint32_t at = trace.spans.parent[span];
  while (at != kNone && place[at] == kNone) at = trace.spans.parent[at];
  return at == kNone ? kNone : place[at];
}

void shape_facts(const Trace& trace, const Steps& steps, const std::vector<std::uint32_t>& place,
                 std::optional<double> median_ms, Facts& facts) {
  std::optional<FactValue> last;
  double changes = 0, slow = 0;
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    if (trace.kind(i) != SpanKind::forward) continue;
    std::optional<FactValue> shape = argument(trace, i, "shape");
    if (!shape) continue;
    if (last && *last != *shape) {
      changes += 1;
      const std::uint32_t step = step_of(trace, i, place);
      if (step != kNone && median_ms && steps.ms[step] > StepSummary::kOutlierRatio * *median_ms)
        slow += 1;
    }
    last = std::move(shape);
  }
  if (!last) {
    facts.set_missing("fwd.shape_changes", "no forward pass says its shape");
    return;
  }
  facts.set("fwd.shape_changes", changes);
  if (median_ms) facts.set("step.outliers_at_shape", slow);
}

}  // namespace

void call_facts(const Run& run, const Steps& steps, Facts& facts) {
  if (steps.spans.empty()) return;
  const Trace& trace = run.traces[steps.trace];
  std::vector<std::uint32_t> place(trace.spans.size(), kNone);
  for (std::uint32_t i = 0; i < steps.spans.size(); ++i) place[steps.spans[i]] = i;
  std::optional<double> median_ms;
  if (const FactValue* const known = facts.find("step.med")) median_ms = std::get<double>(*known);
  shape_facts(trace, steps, place, median_ms, facts);

  std::vector<bool> hook(trace.names.size());
  for (std::size_t n = 0; n < hook.size(); ++n) {
    hook[n] = trace.names[n].text.find("hook") != std::string::npos;
  }
  double hook_ms = 0;
  bool any = false;
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    if (!hook[trace.spans.name[i]] || step_of(trace, i, place) == kNone) continue;
    any = true;
    hook_ms += static_cast<double>(trace.spans.duration_ns[i]) / 1e6;
  }
  const double total = std::accumulate(steps.ms.begin(), steps.ms.end(), 0.0);
  if (any && total > 0) facts.set("step.hook_share", hook_ms / total);
}

}  // namespace genscope::advice
