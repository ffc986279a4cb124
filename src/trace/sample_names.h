// How samples are told in a trace, as counters and events: written by record, read by samples.cc
// and by the follower of store, and known to nobody else.
//
//   counter "<entity id>/<metric id>"    every good reading
//   event genscope.entity                id, kind, name, facts: before the entity's first reading
//   event genscope.series                counter, source, and of a program's own metric its unit,
//                                        kind and description: before the first reading
//   event genscope.status                counter, status, reason: a series has no value (more)
//   event genscope.process               entity, pid, parent, name, and what it used so far
//   event genscope.<name>                entity, detail: whatever else happened
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "genscope/trace.h"

namespace genscope::trace {

inline constexpr std::string_view kSamplerEvents = "genscope.";
// What an allocator's device is called in the names of its counters: no entity is announced for it.
inline constexpr std::string_view kAllocatorPrefix = "allocator:";

struct SampleName {
  std::string_view entity;  // with kAllocatorPrefix, if it has that
  std::string_view metric;  // empty: the counter has no such name
};
// An id of an entity may hold slashes, an id of a metric does not.
inline SampleName split_sample_name(std::string_view counter) noexcept {
  const std::size_t slash = counter.rfind('/');
  if (slash == std::string_view::npos) return {};
  return {counter.substr(0, slash), counter.substr(slash + 1)};
}
inline std::string sample_name(std::string_view entity, std::string_view metric) {
  return std::string(entity) + "/" + std::string(metric);
}
// Whether an event tells of samples, rather than something of the program.
inline bool is_sampler_event(std::string_view name) noexcept {
  return name.starts_with(kSamplerEvents);
}

// The kind that a trace calls so; `other` for a word that is none.
EntityKind entity_kind(std::string_view word) noexcept;

// What a trace says of a metric that is not in the table.
struct OwnMetric {
  std::string unit, kind, description;
};
// The metric of the table; else one made of what was said of it; null if nothing was.
std::shared_ptr<const Metric> metric_of(std::string_view id, const OwnMetric* own);

}  // namespace genscope::trace
