#include <algorithm>
#include <map>

#include <genscope/statistics.h>

#include "advise/facts/parts.h"
#include "analyze/stage_key.h"

namespace genscope::advice {
namespace {

bool is_stage(SpanKind kind) noexcept { return kind == SpanKind::stage || kind == SpanKind::load; }

struct Use {
  double ns = 0;
  std::vector<double> calls_ns;
};

// The nearest stage around a span, or kNone.
std::uint32_t around(const Trace& trace, std::uint32_t span) {
  std::uint32_t at = trace.spans.parent[span];
  while (at != kNone && !is_stage(trace.kind(at))) at = trace.spans.parent[at];
  return at;
}

std::string key_of(const Trace& trace, std::uint32_t span) {
  return std::string(stage_key(trace.kind(span), trace.span_name(span)));
}

// Adds the stages of one process; false if it has none.
bool add_stages(const Trace& trace, std::map<std::string, Use>& uses) {
  bool any = false;
  for (std::uint32_t i = 0; i < trace.spans.size(); ++i) {
    if (!is_stage(trace.kind(i))) continue;
    any = true;
    const auto ns = static_cast<double>(trace.spans.duration_ns[i]);
    Use& use = uses[key_of(trace, i)];
    use.ns += ns;
    use.calls_ns.push_back(ns);
    const std::uint32_t outer = around(trace, i);
    if (outer == kNone || trace.spans.track[outer] != trace.spans.track[i]) continue;
    if ((trace.spans.flags[i] & kSpanDetached) == 0) uses[key_of(trace, outer)].ns -= ns;
  }
  return any;
}

}  // namespace

std::string_view stage_key(SpanKind kind, std::string_view name) noexcept {
  return analysis::stage_key(kind, name);
}

void stage_facts(const Run& run, const Analysis& analysis, Facts& facts) {
  std::map<std::string, Use> uses;
  int processes = 0;
  for (const Trace& trace : run.traces) processes += add_stages(trace, uses) ? 1 : 0;
  if (processes == 0 || analysis.wall_ns <= 0) {
    facts.set_missing("stage.top", "no stage was marked");
    return;
  }
  const double wall = static_cast<double>(analysis.wall_ns) * processes;
  std::string top;
  double most = -1;
  for (const auto& [key, use] : uses) {
    const double share = std::clamp(use.ns / wall, 0.0, 1.0);
    facts.set("stage.share[" + key + "]", share);
    facts.set("stage.ms[" + key + "]", use.ns / 1e6);
    facts.set("stage.calls[" + key + "]", static_cast<double>(use.calls_ns.size()));
    if (use.calls_ns.size() >= 3) {
      const auto later = stats::quantile(std::span(use.calls_ns).subspan(1), 0.5);
      if (later && *later > 0) facts.set("stage.first[" + key + "]", use.calls_ns[0] / *later);
    }
    if (share > most) {
      most = share;
      top = key;
    }
  }
  facts.set("stage.top", top);
  facts.set("stage.top_share", most);
}

}  // namespace genscope::advice
