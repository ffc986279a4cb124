#include <cmath>
#include <string>

#include "advise/facts/parts.h"
#include "trace/arguments.h"

namespace genscope::advice {

std::optional<FactValue> argument(const Trace& trace, std::size_t span, std::string_view key) {
  return trace::argument(trace, trace.span_args, span, key);
}

Readings readings(const Run& run, const Analysis& analysis, std::string_view entity,
                  std::string_view metric, const Stretch& within) {
  Readings found;
  const std::string wanted = std::string(entity) + "/" + std::string(metric);
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    std::uint32_t name = kNone;
    for (std::uint32_t i = 0; i < trace.names.size(); ++i) {
      if (trace.names[i].text == wanted) name = i;
    }
    if (name == kNone) continue;
    const std::int64_t offset =
        t < analysis.clock_offset_ns.size() ? analysis.clock_offset_ns[t] : 0;
    for (std::size_t i = 0; i < trace.counters.size(); ++i) {
      if (trace.counters.name[i] != name || !std::isfinite(trace.counters.value[i])) continue;
      const std::int64_t at = trace.counters.at_ns[i] + offset;
      if (!within.holds(at)) continue;
      found.at_s.push_back(static_cast<double>(at - within.begin_ns) / 1e9);
      found.value.push_back(trace.counters.value[i]);
    }
  }
  return found;
}

}  // namespace genscope::advice

namespace genscope {

Facts facts_of(const Run& run, const Analysis& analysis) {
  Facts facts;
  const advice::Steps steps = advice::find_steps(run, analysis);
  advice::stage_facts(run, analysis, facts);
  advice::step_facts(run, analysis, steps, facts);
  advice::call_facts(run, steps, facts);
  advice::target_facts(run, facts);
  advice::generation_facts(run, analysis, facts);
  advice::gpu_facts(run, analysis, steps, facts);
  advice::host_facts(run, analysis, steps, facts);
  advice::resource_facts(run, analysis, steps, facts);  // after those of stages and steps
  advice::wait_facts(run, analysis, facts);
  advice::load_facts(run, facts);
  advice::rank_facts(run, facts);
  for (const CounterRow& row : analysis.counters) {
    if (row.count == row.not_finite) continue;
    facts.set("counter.mean[" + row.name + "]", row.mean);
    facts.set("counter.max[" + row.name + "]", row.max);
    facts.set("counter.last[" + row.name + "]", row.last);
  }
  if (analysis.recorder.probe_cpu_ns && analysis.wall_ns > 0) {
    facts.set("self.sampler_share", static_cast<double>(*analysis.recorder.probe_cpu_ns) /
                                        static_cast<double>(analysis.wall_ns));
  }
  advice::given_facts(run, facts);  // last: what the program says of itself wins
  return facts;
}

}  // namespace genscope
