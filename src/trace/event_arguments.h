// The events in which samplers tell what they saw, one by one, with their arguments.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include "genscope/trace.h"
#include "trace/sample_names.h"

namespace genscope::trace {

// The arguments of one event, looked up by key. Lenient: what is missing is empty or absent.
class EventArguments {
 public:
  EventArguments(const Trace& trace, std::size_t first, std::size_t last)
      : trace_(trace), first_(first), last_(last) {}

  std::string_view text(std::string_view key) const {
    const std::size_t i = find(key);
    if (i == last_ || trace_.event_args.type[i] != ArgType::text) return {};
    const std::uint64_t index = trace_.event_args.bits[i];
    return index < trace_.texts.size() ? std::string_view(trace_.texts[index]) : "";
  }

  std::optional<double> number(std::string_view key) const {
    const std::size_t i = find(key);
    if (i == last_) return std::nullopt;
    const std::uint64_t bits = trace_.event_args.bits[i];
    switch (trace_.event_args.type[i]) {
      case ArgType::int64:
        return static_cast<double>(static_cast<std::int64_t>(bits));
      case ArgType::uint64:
        return static_cast<double>(bits);
      case ArgType::float64: {
        const auto value = __builtin_bit_cast(double, bits);
        return std::isfinite(value) ? std::optional(value) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  bool flag(std::string_view key) const {
    const std::size_t i = find(key);
    return i != last_ && trace_.event_args.type[i] == ArgType::boolean &&
           trace_.event_args.bits[i] != 0;
  }

 private:
  std::size_t find(std::string_view key) const {
    for (std::size_t i = first_; i < last_; ++i) {
      const std::uint32_t name = trace_.event_args.key[i];
      if (name < trace_.names.size() && trace_.names[name].text == key) return i;
    }
    return last_;
  }

  const Trace& trace_;
  std::size_t first_, last_;
};

// act(at_ns, name without its prefix, arguments) for each, in the order of the trace.
template <class Act>
void each_sampler_event(const Trace& trace, Act&& act) {
  const ArgColumns& args = trace.event_args;
  std::size_t next = 0;  // arguments are grouped by owner in ascending order
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    while (next < args.size() && args.owner[next] < e) ++next;
    const std::size_t first = next;
    while (next < args.size() && args.owner[next] == e) ++next;
    const std::uint32_t name = trace.events.name[e];
    if (name >= trace.names.size() || !is_sampler_event(trace.names[name].text)) continue;
    act(trace.events.at_ns[e],
        std::string_view(trace.names[name].text).substr(kSamplerEvents.size()),
        EventArguments(trace, first, next));
  }
}

}  // namespace genscope::trace
