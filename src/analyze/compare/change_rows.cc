#include "analyze/compare/change_rows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyze/compare/judge.h"

namespace genscope::analysis {
namespace {

const Sample kNothing;

struct Pair {
  const Sample* before = &kNothing;
  const Sample* after = &kNothing;
  double most_ns() const { return std::max(before->total_ns, after->total_ns); }
};
using Pairs = std::map<std::pair<SpanKind, std::string_view>, Pair>;

Pairs pair_up(const RunSamples& before, const RunSamples& after) {
  Pairs pairs;
  for (const RowSample& row : before.rows) pairs[{row.kind, row.name}].before = &row.sample;
  for (const RowSample& row : after.rows) pairs[{row.kind, row.name}].after = &row.sample;
  return pairs;
}

// Many and short: they give way first where there are too many rows.
bool is_fine(SpanKind kind) {
  return kind == SpanKind::none || kind == SpanKind::forward || kind == SpanKind::task ||
         kind == SpanKind::function;
}

std::vector<Pairs::const_iterator> chosen(const Pairs& pairs) {
  std::vector<Pairs::const_iterator> list;
  for (auto it = pairs.begin(); it != pairs.end(); ++it) list.push_back(it);
  const auto importance = [](Pairs::const_iterator it) {
    return std::tuple(is_fine(it->first.first), -it->second.most_ns(), it->first);
  };
  std::sort(list.begin(), list.end(),
            [&](auto a, auto b) { return importance(a) < importance(b); });
  if (list.size() > kMostRows) list.resize(kMostRows);
  const auto place = [](Pairs::const_iterator it) {  // as Analysis::stages
    const SpanKind kind = it->first.first;
    return std::tuple(kind == SpanKind::none, kind, -it->second.most_ns(), it->first.second);
  };
  std::sort(list.begin(), list.end(), [&](auto a, auto b) { return place(a) < place(b); });
  return list;
}

void add_kinds(const RunSamples& before, const RunSamples& after, Comparison& result) {
  for (const SpanKind kind :
       {SpanKind::step, SpanKind::block, SpanKind::request, SpanKind::batch}) {
    const RunSamples::Kind &a = before.of(kind), &b = after.of(kind);
    if (std::max(a.names, b.names) < 2) continue;  // then the name's own row says it
    result.rows.push_back(span_row(name_of_all(kind), std::string(genscope::name(kind)), a.sample,
                                   b.sample, result.noise_floor));
  }
}

// A value of the whole run. Absent in one: not measured there, which is no change.
void add_figure(std::string name, const char* kind, const char* unit, std::optional<double> before,
                std::optional<double> after, Comparison& result) {
  if (!before && !after) return;
  ChangeRow row;
  row.name = std::move(name);
  row.kind = kind;
  row.unit = unit;
  row.before = before;
  row.after = after;
  row.before_count = before ? 1 : 0;
  row.after_count = after ? 1 : 0;
  relate(row);
  result.rows.push_back(std::move(row));
}

std::optional<double> positive(std::int64_t ns) {
  return ns > 0 ? std::optional(static_cast<double>(ns)) : std::nullopt;
}

std::optional<double> tree_figure(const Telemetry& telemetry, std::string_view metric,
                                  double SeriesRow::*figure) {
  const EntityRow* const tree = telemetry.first(EntityKind::process_tree);
  return tree == nullptr ? std::nullopt : tree->value(metric, figure);
}

// Each GPU's own peak, added up.
std::optional<double> gpu_peak(const Telemetry& telemetry, std::string_view metric) {
  std::optional<double> sum;
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::gpu) continue;
    if (const auto peak = row.value(metric, &SeriesRow::max)) sum = sum.value_or(0) + *peak;
  }
  return sum;
}

void add_memory(const Telemetry& before, const Telemetry& after, Comparison& result) {
  const auto add = [&](std::string name, std::optional<double> a, std::optional<double> b) {
    add_figure(std::move(name), "memory", "bytes", a, b, result);
  };
  add("peak RSS", tree_figure(before, "rss_bytes", &SeriesRow::max),
      tree_figure(after, "rss_bytes", &SeriesRow::max));
  add("peak GPU memory of the run", gpu_peak(before, "tree_memory_bytes"),
      gpu_peak(after, "tree_memory_bytes"));
  add("peak GPU memory in use", gpu_peak(before, "memory_used_bytes"),
      gpu_peak(after, "memory_used_bytes"));
  std::map<std::string, std::pair<std::optional<double>, std::optional<double>>> reserved;
  for (const AllocatorRow& row : before.allocators) {
    reserved[row.device].first = row.reserved_bytes;
  }
  for (const AllocatorRow& row : after.allocators) {
    reserved[row.device].second = row.reserved_bytes;
  }
  for (const auto& [device, peaks] : reserved) {
    add("peak reserved on " + device, peaks.first, peaks.second);
  }
}

void add_energy(const Analysis& before, const Analysis& after, Comparison& result) {
  add_figure("energy", "energy", "joules", before.telemetry.joules(), after.telemetry.joules(),
             result);
  std::map<std::string, std::pair<std::optional<double>, std::optional<double>>> units;
  for (const EnergyPerUnit& each : before.resources.energy) {
    units[each.unit].first = each.joules_each;
  }
  for (const EnergyPerUnit& each : after.resources.energy) {
    units[each.unit].second = each.joules_each;
  }
  for (const auto& [unit, joules] : units) {
    add_figure("energy per " + unit, "energy", "joules", joules.first, joules.second, result);
  }
}

std::optional<double> first_step(const Analysis& analysis) {
  return analysis.steps.count > 0 ? positive(analysis.steps.first_ns) : std::nullopt;
}

}  // namespace

std::string name_of_all(SpanKind kind) {
  return "all " + std::string(genscope::name(kind)) + (kind == SpanKind::batch ? "es" : "s");
}

Common common_rows(const RunSamples& before, const RunSamples& after) {
  Common common{before.rows.size(), after.rows.size(), 0};
  common.both = common.before + common.after - pair_up(before, after).size();
  return common;
}

void add_rows(const Side& before, const Side& after, Comparison& result) {
  const Analysis &a = before.analysis, &b = after.analysis;
  add_figure("wall time", "run", "ns", positive(a.wall_ns), positive(b.wall_ns), result);
  const Sample &steady = before.samples.steady, &steady_after = after.samples.steady;
  if (steady.count > 0 || steady_after.count > 0) {
    result.rows.push_back(
        span_row(std::string(kSteadyStep), "step", steady, steady_after, result.noise_floor));
  }
  add_figure("first step", "step", "ns", first_step(a), first_step(b), result);
  add_kinds(before.samples, after.samples, result);
  const Pairs pairs = pair_up(before.samples, after.samples);
  const std::vector<Pairs::const_iterator> kept = chosen(pairs);
  for (const auto& pair : kept) {
    const auto& [kind, name] = pair->first;
    result.rows.push_back(span_row(std::string(name), std::string(genscope::name(kind)),
                                   *pair->second.before, *pair->second.after, result.noise_floor));
  }
  result.rows_left_out = pairs.size() - kept.size();
  add_figure("CPU time", "cpu", "ns", tree_figure(a.telemetry, "cpu_ns", &SeriesRow::growth),
             tree_figure(b.telemetry, "cpu_ns", &SeriesRow::growth), result);
  add_memory(a.telemetry, b.telemetry, result);
  add_energy(a, b, result);
}

}  // namespace genscope::analysis
