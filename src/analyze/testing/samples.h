// Samples in a Trace, as a sampler writes them. For *_test.cc only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <genscope/trace.h>

#include "analyze/testing/trace_builder.h"
#include "testing/units.h"

namespace genscope::testing {

using TextArgs = std::initializer_list<std::pair<std::string_view, std::string>>;

// An event with arguments that are texts.
inline void add_event(TraceBuilder& t, std::string_view name, std::int64_t at_ns, TextArgs args) {
  Trace& trace = t.trace();
  const auto owner = static_cast<std::uint32_t>(trace.events.size());
  trace.events.at_ns.push_back(at_ns);
  trace.events.name.push_back(t.name(name, SpanKind::none));
  trace.events.track.push_back(0);
  trace.events.span.push_back(kNone);
  for (const auto& [key, value] : args) {
    trace.event_args.owner.push_back(owner);
    trace.event_args.key.push_back(t.name(key, SpanKind::none));
    trace.event_args.type.push_back(ArgType::text);
    trace.event_args.bits.push_back(trace.texts.size());
    trace.texts.push_back(value);
  }
}

// `facts`: "key=value" lines.
inline void add_entity(TraceBuilder& t, EntityKind kind, std::string id, std::string name = "",
                       std::string facts = "") {
  add_event(t, "genscope.entity", 0,
            {{"id", std::move(id)},
             {"kind", std::string(genscope::name(kind))},
             {"name", std::move(name)},
             {"facts", std::move(facts)}});
}

// A reading every `period_ns` from `begin_ns` up to, not at, `end_ns`: value(seconds since begin).
template <class Value>
void add_readings(TraceBuilder& t, std::string_view counter, std::int64_t begin_ns,
                  std::int64_t end_ns, std::int64_t period_ns, Value&& value) {
  for (std::int64_t at = begin_ns; at < end_ns; at += period_ns) {
    t.counter(counter, at, value(static_cast<double>(at - begin_ns) * 1e-9));
  }
}

}  // namespace genscope::testing
