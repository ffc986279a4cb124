// The figures are those of the Analysis, as every report has them. "Own time" is the only one made
// here: wall time less what the main thread waited for a CPU, but no more than the CPU time that
// others used meanwhile, because a program with more threads than CPUs waits for itself, too.
#include "analyze/compare/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "analyze/percentile.h"

namespace genscope::analysis {
namespace {

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

// As every report has it; without samples as the kernel counted it at the command's end.
std::optional<double> cpu_time(const Run& run, const Telemetry& telemetry) {
  const auto sampled = tree_figure(telemetry, "cpu_ns", &SeriesRow::max);
  if (sampled || !run.cpu_ns) return sampled;
  return static_cast<double>(*run.cpu_ns);
}

// Wall time less the time in which the command's main thread could have run and had no CPU. A
// program with more threads than CPUs also waits for itself: so no more than the CPU time that
// others used meanwhile. Absent where one of these is not known.
std::optional<double> own_time(const Run& run, const Analysis& analysis) {
  const EntityRow* const machine = analysis.telemetry.first(EntityKind::machine);
  const std::optional<double> wall = positive(analysis.wall_ns);
  const std::optional<double> cpu = cpu_time(run, analysis.telemetry);
  if (machine == nullptr || !wall || !cpu || !run.cpu_wait_ns) return std::nullopt;
  const std::optional<double> busy = machine->value("cpu_busy_ratio", &SeriesRow::mean);
  const std::optional<double> cpus = machine->value("cpu_count", &SeriesRow::max);
  if (!busy || !cpus) return std::nullopt;
  const double others = std::max(0.0, *busy * *cpus * *wall - *cpu);
  const double own = *wall - std::min(static_cast<double>(*run.cpu_wait_ns), others);
  return own > 0 ? std::optional(own) : std::nullopt;
}

void add_figure(std::vector<Figure>& figures, std::string name, const char* kind, const char* unit,
                const std::optional<double>& value) {
  if (value) figures.push_back({std::move(name), kind, unit, *value});
}

void add_costs(const Run& run, const Analysis& analysis, std::vector<Figure>& costs) {
  const Telemetry& t = analysis.telemetry;
  add_figure(costs, "CPU time", "cpu", "ns", cpu_time(run, t));
  add_figure(costs, "peak RSS", "memory", "bytes", tree_figure(t, "rss_bytes", &SeriesRow::max));
  add_figure(costs, "peak GPU memory of the run", "memory", "bytes",
             gpu_peak(t, "tree_memory_bytes"));
  add_figure(costs, "peak GPU memory in use", "memory", "bytes", gpu_peak(t, "memory_used_bytes"));
  for (const AllocatorRow& row : t.allocators) {
    add_figure(costs, "peak reserved on " + row.device, "memory", "bytes", row.reserved_bytes);
  }
  add_figure(costs, "energy", "energy", "joules", t.joules());
  for (const EnergyPerUnit& each : analysis.resources.energy) {
    add_figure(costs, "energy per " + each.unit, "energy", "joules", each.joules_each);
  }
}

// Why a run is no whole run; empty if it is one.
std::string why_unfinished(const Run& run, const RunSamples& samples, std::size_t unclosed) {
  if (run.exit_code && *run.exit_code != 0) {
    return fmt::format("its command ended with exit code {}", *run.exit_code);
  }
  for (const Trace& trace : run.traces) {
    if (trace.integrity.in_progress) return "it still runs";
  }
  // A worker that is killed at the end of a command that succeeded is the program's own affair.
  if (unclosed > 0 && (!run.exit_code || unclosed == run.traces.size())) {
    return "it ended without closing its recording (by _exit or a signal)";
  }
  for (const SpanKind kind : {SpanKind::session, SpanKind::request}) {
    const Sample& all = samples.of(kind).sample;
    const bool none_left = kind == SpanKind::request && all.count == 0;
    if (all.failed > 0 && (kind == SpanKind::session || none_left)) {
      return fmt::format("{} of its {}s failed", all.failed, genscope::name(kind));
    }
  }
  return "";
}

std::optional<double> spread_of(const Sample& steady) {
  constexpr std::size_t kEnough = 8;
  const std::vector<double>& logs = steady.logs;
  if (logs.size() < kEnough) return std::nullopt;
  return std::expm1(logs[nearest_rank(logs.size(), 75)] - logs[nearest_rank(logs.size(), 25)]);
}

std::vector<std::pair<std::string, double>> thin_energy(const Telemetry& telemetry) {
  constexpr double kEnough = 0.9;
  std::vector<std::pair<std::string, double>> thin;
  for (const EntityRow& row : telemetry.entities) {
    if (!row.energy || !row.energy->joules) continue;
    const double all = row.energy->covered_seconds + row.energy->uncovered_seconds;
    if (!(all > 0) || row.energy->covered_seconds >= kEnough * all) continue;
    thin.emplace_back(row.entity.name, row.energy->covered_seconds / all);
  }
  return thin;
}

std::optional<double> median_seconds(const Sample& sample) {
  constexpr double kSecond = 1e9;
  if (sample.count == 0 || !(sample.median_ns > 0)) return std::nullopt;
  return sample.median_ns / kSecond;
}

std::optional<double> generation_seconds(const RunSamples& samples, std::optional<double> wall_ns) {
  for (const SpanKind kind : {SpanKind::request, SpanKind::session}) {
    const Sample& all = samples.of(kind).sample;
    if (all.present()) return median_seconds(all);  // all failed: there is no time to tell
  }
  if (!wall_ns) return std::nullopt;
  return *wall_ns / 1e9;
}

}  // namespace

RunRecord record_of(const Run& run, const Analysis& analysis) {
  RunRecord record;
  record.name = run.name;
  record.id = run.id;
  record.path = run.path;
  if (!run.command.empty()) {
    record.program = std::filesystem::path(run.command.front()).filename().string();
  }
  record.started_unix_ns = run.started_unix_ns;
  record.samples = gather_samples(run);
  record.facts = facts_of_run(run, analysis, record.samples.steps_per_loop);
  record.parts = stage_parts(run);
  record.wall_ns = positive(analysis.wall_ns);
  record.cpu_ns = cpu_time(run, analysis.telemetry);
  record.own_ns = own_time(run, analysis);
  const Sample& requests = record.samples.of(SpanKind::request).sample;
  if (requests.count > 0) {
    record.request_ns = requests.total_ns / static_cast<double>(requests.count);
  }
  if (analysis.steps.count > 0) {
    add_figure(record.times, "first step", "step", "ns", positive(analysis.steps.first_ns));
  }
  add_costs(run, analysis, record.costs);
  record.traces = run.traces.size();
  record.unclosed = static_cast<std::size_t>(
      std::count_if(run.traces.begin(), run.traces.end(),
                    [](const Trace& trace) { return !trace.integrity.closed; }));
  record.unfinished = why_unfinished(run, record.samples, record.unclosed);
  record.dropped_spans = analysis.recorder.dropped_spans;
  record.steady_spread = spread_of(record.samples.steady);
  record.thin_energy = thin_energy(analysis.telemetry);
  record.generation_seconds = generation_seconds(record.samples, record.wall_ns);
  const std::optional<double> steady = median_seconds(record.samples.steady);
  record.step_seconds = steady ? steady : median_seconds(record.samples.of(SpanKind::step).sample);
  return record;
}

}  // namespace genscope::analysis
