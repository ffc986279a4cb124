#include "analyze/settings.h"

namespace genscope::analysis {
namespace {

// Arguments whose owners `wanted` approves.
template <class Wanted>
void take(const Trace& trace, const ArgColumns& args, Settings& settings, Wanted&& wanted) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!wanted(args.owner[i])) continue;
    if (auto value = trace::argument_at(trace, args, i)) {
      settings.emplace(trace.names[args.key[i]].text, *std::move(value));
    }
  }
}

}  // namespace

Settings settings_of(const Run& run) {
  Settings settings;
  for (const Trace& trace : run.traces) {
    take(trace, trace.span_args, settings,
         [&](std::uint32_t span) { return trace.kind(span) == SpanKind::session; });
    take(trace, trace.event_args, settings, [&](std::uint32_t event) {
      const std::string& name = trace.names[trace.events.name[event]].text;
      return name == "config" || name == "environment";
    });
  }
  return settings;
}

}  // namespace genscope::analysis
