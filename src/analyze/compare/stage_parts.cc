#include "analyze/compare/stage_parts.h"

#include <algorithm>
#include <vector>

#include "analyze/generation/roles.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr double kSecondsPerNs = 1e-9;

void add_trace(const Trace& trace, RunParts& parts) {
  const auto is_part = [&](std::uint32_t s) {
    return trace.kind(s) == SpanKind::stage || trace.kind(s) == SpanKind::load;
  };
  const auto length = [&](std::size_t s) {
    return interval(trace.spans.begin_ns[s], trace.spans.duration_ns[s]).length();
  };
  std::vector<std::int64_t> inner(trace.spans.size());
  std::map<std::uint32_t, double> steps;
  for (std::uint32_t i = 0; i < inner.size(); ++i) {
    const bool is_step = trace.kind(i) == SpanKind::step;
    if (!is_step && !is_part(i)) continue;
    const std::uint32_t around = nearest_around(trace, i, is_part);
    if (around == kNone) continue;
    if (is_step) {
      ++steps[around];
    } else if (trace.spans.track[i] == trace.spans.track[around]) {
      inner[around] += length(i);  // what runs on another track takes nothing from it
    }
  }
  for (std::uint32_t i = 0; i < inner.size(); ++i) {
    if (!is_part(i)) continue;
    const double own =
        static_cast<double>(std::max<std::int64_t>(length(i) - inner[i], 0)) * kSecondsPerNs;
    const auto counted = steps.find(i);
    const bool in_request = nearest_around(trace, i, [&](std::uint32_t s) {
                              return trace.kind(s) == SpanKind::request;
                            }) != kNone;
    for (StageParts* all : {&parts.whole, in_request ? &parts.in_requests : nullptr}) {
      if (all == nullptr) continue;
      StagePart& part = (*all)[trace.span_name(i)];
      part.seconds += own;
      if (counted != steps.end()) part.steps += counted->second;
    }
  }
}

}  // namespace

RunParts stage_parts(const Run& run) {
  RunParts parts;
  for (const Trace& trace : run.traces) add_trace(trace, parts);
  return parts;
}

}  // namespace genscope::analysis
