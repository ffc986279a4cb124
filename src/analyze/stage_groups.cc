// Each name of a trace is put into its group once; a span then adds its length to its group and
// takes it from that of the nearest stage around it, so that over all groups an instant of a
// thread's stack counts once.
#include "analyze/stage_groups.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "analyze/stage_key.h"
#include "analyze/statistics/statistics.h"
#include "analyze/time.h"

namespace genscope::analysis {
namespace {

constexpr std::size_t kMinCalls = 3;

struct GroupSums {
  double ns = 0;
  std::vector<double> calls_ns;
};

class StageGroups {
 public:
  // False if the process has no stage.
  bool add(const Trace& trace) {
    std::vector<GroupSums*> group_of_name(trace.names.size(), nullptr);
    for (std::size_t n = 0; n < trace.names.size(); ++n) {
      const Name& name = trace.names[n];
      if (name.kind != SpanKind::stage && name.kind != SpanKind::load) continue;
      group_of_name[n] = &groups_[stage_key(name.kind, name.text)];
    }
    const SpanColumns& spans = trace.spans;
    bool any = false;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      GroupSums* const group = group_of_name[spans.name[i]];
      if (group == nullptr) continue;
      any = true;
      const auto ns = static_cast<double>(spans.duration_ns[i]);
      group->ns += ns;
      group->calls_ns.push_back(ns);
      if ((spans.flags[i] & kSpanDetached) != 0) continue;
      std::uint32_t outer = spans.parent[i];
      while (outer != kNone && group_of_name[spans.name[outer]] == nullptr) {
        outer = spans.parent[outer];
      }
      if (outer == kNone || spans.track[outer] != spans.track[i]) continue;
      group_of_name[spans.name[outer]]->ns -= ns;
    }
    return any;
  }

  std::vector<StageGroup> rows(double wall_ns) const {
    std::vector<StageGroup> rows;
    for (const auto& [name, group] : groups_) {
      if (group.calls_ns.empty()) continue;  // declared, never recorded
      StageGroup& row = rows.emplace_back();
      row.name = name;
      row.count = group.calls_ns.size();
      row.exclusive_ns = nearest_ns(group.ns);
      row.exclusive_share = std::clamp(group.ns / wall_ns, 0.0, 1.0);
      if (group.calls_ns.size() < kMinCalls) continue;
      const auto later = stats::quantile(std::span(group.calls_ns).subspan(1), 0.5);
      if (later && *later > 0) row.first_ratio = group.calls_ns[0] / *later;
    }
    std::stable_sort(rows.begin(), rows.end(), [](const StageGroup& a, const StageGroup& b) {
      return a.exclusive_ns > b.exclusive_ns;
    });
    if (rows.size() > kMaxNamedRows) rows.resize(kMaxNamedRows);
    return rows;
  }

 private:
  std::map<std::string_view, GroupSums> groups_;  // names of the run's traces, which stay
};

}  // namespace

std::vector<StageGroup> group_stages(const Run& run, std::int64_t wall_ns) {
  StageGroups groups;
  int processes = 0;
  for (const Trace& trace : run.traces) processes += groups.add(trace) ? 1 : 0;
  if (processes == 0 || wall_ns <= 0) return {};
  return groups.rows(static_cast<double>(wall_ns) * processes);
}

}  // namespace genscope::analysis
