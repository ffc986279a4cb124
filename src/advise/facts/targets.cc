// Generations against the target that the program names: its setting `target_seconds`.
#include <algorithm>

#include <genscope/statistics.h>

#include "advise/facts/parts.h"
#include "analyze/settings.h"

namespace genscope::advice {
namespace {

struct Generations {
  std::vector<double> seconds;  // of those that did not fail
  double count = 0;
};

Generations of_kind(const Run& run, SpanKind kind) {
  Generations found;
  for (const Trace& trace : run.traces) {
    for (std::size_t i = 0; i < trace.spans.size(); ++i) {
      if (trace.kind(i) != kind || (trace.spans.flags[i] & kSpanUnfinished) != 0) continue;
      found.count += 1;
      if ((trace.spans.flags[i] & kSpanFailed) != 0) continue;
      found.seconds.push_back(static_cast<double>(trace.spans.duration_ns[i]) / 1e9);
    }
  }
  return found;
}

}  // namespace

void target_facts(const Run& run, Facts& facts) {
  const analysis::Settings settings = analysis::settings_of(run);
  const auto said = settings.find("target_seconds");
  if (said == settings.end() || !std::holds_alternative<double>(said->second) ||
      !(std::get<double>(said->second) > 0)) {
    facts.set_missing("target.ratio", "the program names no target_seconds");
    return;
  }
  const double target = std::get<double>(said->second);
  Generations made = of_kind(run, SpanKind::request);
  if (made.count == 0) made = of_kind(run, SpanKind::session);
  if (made.count == 0) return;
  const auto met = std::count_if(made.seconds.begin(), made.seconds.end(),
                                 [&](double seconds) { return seconds <= target; });
  facts.set("target.met_share", static_cast<double>(met) / made.count);
  if (const auto median = stats::quantile(made.seconds, 0.5)) {
    facts.set("target.ratio", *median / target);
  }
}

}  // namespace genscope::advice
