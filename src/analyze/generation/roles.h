// Roles: what a span or an event is for, decided once per name of a trace. docs/analysis.md lists
// the names.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

// Of spans, by their names, whatever the case and whether words are joined by '_', '-', '.' or ' '.
enum class SpanRole : std::uint8_t { none, input_wait, text, image, vae_decode };
SpanRole span_role(std::string_view name, SpanKind kind);
std::vector<SpanRole> span_roles(const Trace& trace);  // per name

// Of events: what Inferix records.
enum class EventRole : std::uint8_t {
  none,
  streaming,
  dropped_frames,
  layer,
  memory,
  cache,
  diffusion_step,
  block,
  model_parameters,
};
std::vector<EventRole> event_roles(const Trace& trace);  // per name

// Whether spans of this kind may wrap a piece of work without being a part of a pipeline: looking
// for what a step or batch belongs to goes through them.
bool is_wrapper(SpanKind kind) noexcept;

// The nearest span around `span` that `wanted` (called with an index) accepts, or kNone. Gives up
// after kMaxClimb levels, so that deep recursion does not make a pass quadratic.
inline constexpr int kMaxClimb = 16;
template <class Wanted>
std::uint32_t nearest_around(const Trace& trace, std::size_t span, Wanted&& wanted) {
  std::uint32_t at = trace.spans.parent[span];
  for (int level = 0; level < kMaxClimb && at < trace.spans.size(); ++level) {
    if (wanted(at)) return at;
    at = trace.spans.parent[at];
  }
  return kNone;
}

}  // namespace genscope::analysis
