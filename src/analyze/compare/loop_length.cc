#include "analyze/compare/loop_length.h"

#include <algorithm>
#include <vector>

#include "analyze/generation/roles.h"

namespace genscope::analysis {
namespace {

// Whether the loops of a process all have `length` steps, which the first loop of all sets.
bool all_alike(const Trace& trace, std::optional<std::uint64_t>& length) {
  std::vector<std::uint32_t> steps_in(trace.spans.size());
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    if (trace.kind(i) != SpanKind::step) continue;
    const std::uint32_t loop =
        nearest_around(trace, i, [&](std::uint32_t s) { return !is_wrapper(trace.kind(s)); });
    if (loop == kNone) return false;
    ++steps_in[loop];
  }
  return std::all_of(steps_in.begin(), steps_in.end(), [&](std::uint32_t steps) {
    if (steps == 0) return true;
    if (!length) length = steps;
    return steps == *length;
  });
}

}  // namespace

std::optional<std::uint64_t> steps_per_loop(const Run& run) {
  std::optional<std::uint64_t> length;
  for (const Trace& trace : run.traces) {
    const bool any = std::any_of(trace.names.begin(), trace.names.end(),
                                 [](const Name& name) { return name.kind == SpanKind::step; });
    if (any && !all_alike(trace, length)) return std::nullopt;
  }
  return length;
}

}  // namespace genscope::analysis
