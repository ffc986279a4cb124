#include "analyze/sample_events.h"

#include <cmath>

namespace genscope::analysis {

std::size_t EventArgs::find(std::string_view key) const {
  for (std::size_t i = first_; i < last_; ++i) {
    const std::uint32_t name = trace_.event_args.key[i];
    if (name < trace_.names.size() && trace_.names[name].text == key) return i;
  }
  return kNotFound;
}

std::string_view EventArgs::text(std::string_view key) const {
  const std::size_t i = find(key);
  if (i == kNotFound || trace_.event_args.type[i] != ArgType::text) return {};
  const std::uint64_t index = trace_.event_args.bits[i];
  return index < trace_.texts.size() ? std::string_view(trace_.texts[index]) : "";
}

double EventArgs::number(std::string_view key, double fallback) const {
  const std::size_t i = find(key);
  if (i == kNotFound) return fallback;
  const std::uint64_t bits = trace_.event_args.bits[i];
  switch (trace_.event_args.type[i]) {
    case ArgType::int64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ArgType::uint64:
      return static_cast<double>(bits);
    case ArgType::float64: {
      const auto value = __builtin_bit_cast(double, bits);
      return std::isfinite(value) ? value : fallback;
    }
    default:
      return fallback;
  }
}

void visit_sample_events(
    const Trace& trace,
    const std::function<void(std::int64_t, std::string_view, const EventArgs&)>& visit) {
  constexpr std::string_view kPrefix = "genscope.";
  const ArgColumns& args = trace.event_args;
  std::size_t next = 0;  // arguments are grouped by owner in ascending order
  for (std::size_t e = 0; e < trace.events.size(); ++e) {
    while (next < args.size() && args.owner[next] < e) ++next;
    const std::size_t first = next;
    while (next < args.size() && args.owner[next] == e) ++next;
    const std::uint32_t name = trace.events.name[e];
    if (name >= trace.names.size() || !trace.names[name].text.starts_with(kPrefix)) continue;
    const std::string_view what = std::string_view(trace.names[name].text).substr(kPrefix.size());
    visit(trace.events.at_ns[e], what, EventArgs(trace, first, next));
  }
}

}  // namespace genscope::analysis
