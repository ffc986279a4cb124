// What is kept of one rank, from its trace.
#include <genscope/analyze.h>

#include "analyze/aggregate/waits.h"
#include "analyze/time.h"

namespace genscope {
namespace {

using analysis::seconds;

using Figures = std::vector<std::pair<std::string, double>>;

// Kernels, operators and functions are too many to be compared by name; a session is the wall time.
bool is_stage(SpanKind kind) {
  return kind != SpanKind::session && kind != SpanKind::task && kind != SpanKind::function;
}

bool can_fail(SpanKind kind) {
  return kind == SpanKind::session || kind == SpanKind::request || kind == SpanKind::batch ||
         kind == SpanKind::step;
}

std::optional<double> step_seconds(const StepSummary& steps) {
  if (steps.steady_p50_ns) return seconds(*steps.steady_p50_ns);
  if (steps.count >= 2) return seconds(steps.rest_p50_ns);
  if (steps.count == 1) return seconds(steps.first_ns);
  return std::nullopt;
}

// Sums over the GPUs that the rank used; where that is not known, over those that were seen.
void add_gpus(const Telemetry& telemetry, Figures& figures) {
  double memory = 0, watts = 0, busy = 0;
  std::size_t memories = 0, powers = 0, busies = 0;
  for (const EntityRow& row : telemetry.entities) {
    if (row.entity.kind != EntityKind::gpu) continue;
    const auto own = row.value("tree_memory_bytes", &SeriesRow::max);
    if (own && *own == 0) continue;
    const auto used = own ? own : row.value("memory_used_bytes", &SeriesRow::max);
    if (used) memory += *used, ++memories;
    if (const auto mean = row.value("power_watts", &SeriesRow::mean)) watts += *mean, ++powers;
    if (const auto mean = row.value("busy_ratio", &SeriesRow::mean)) busy += *mean, ++busies;
  }
  if (memories > 0) figures.emplace_back("gpu_memory_peak_bytes", memory);
  if (busies > 0) figures.emplace_back("gpu_busy_ratio", busy / static_cast<double>(busies));
  if (powers > 0) figures.emplace_back("gpu_power_watts", watts);
}

void add_telemetry(const Analysis& analysis, Figures& figures) {
  const Telemetry& telemetry = analysis.telemetry;
  if (const EntityRow* tree = telemetry.first(EntityKind::process_tree)) {
    const std::optional<double>& cores = analysis.resources.host.own_cores;
    if (cores) figures.emplace_back("cpu_cores", *cores);
    const auto peak = tree->value("rss_bytes", &SeriesRow::max);
    if (peak) figures.emplace_back("rss_peak_bytes", *peak);
  }
  add_gpus(telemetry, figures);
  if (const auto joules = telemetry.joules()) figures.emplace_back("energy_joules", *joules);
}

}  // namespace

RankFigures rank_figures(const Run& run, const Analysis& analysis) {
  RankFigures out;
  out.source = run.path;
  out.run = run.id;
  out.name = run.name;
  out.host = run.host;
  out.exit_code = run.exit_code;
  out.wall_ns = analysis.wall_ns;
  for (const StageRow& row : analysis.stages) {
    if (can_fail(row.kind)) out.failed_spans += row.failed;
    if (!is_stage(row.kind)) continue;
    out.stage_seconds.emplace_back(std::string(name(row.kind)) + "/" + row.name,
                                   seconds(row.total_ns));
  }
  out.step_p50_seconds = step_seconds(analysis.steps);
  if (analysis.steps.count > 0) out.steps = analysis.steps.count;
  if (analysis.diffusion.frames) {
    out.figures.emplace_back("frames", static_cast<double>(*analysis.diffusion.frames));
  }
  add_telemetry(analysis, out.figures);
  if (run.traces.empty()) return out;

  const Trace& trace = run.traces.front();
  if (!trace.process.host.empty()) out.host = trace.process.host;
  out.boot_id = trace.process.boot_id;
  out.pid = trace.process.pid;
  out.ppid = trace.process.ppid;
  out.rank = trace.process.rank;
  out.world_size = trace.process.world_size;
  out.closed = trace.integrity.closed;
  out.running = trace.integrity.in_progress;
  out.samples_only = trace.spans.size() == 0 && trace.counters.size() > 0;
  out.begin_unix_ns = analysis::add(trace.begin_ns, trace.process.unix_offset_ns);
  if (analysis.recorder.dropped_spans > 0) {
    out.notes.push_back(std::to_string(analysis.recorder.dropped_spans) +
                        " spans were dropped: its times are too short");
  }
  analysis::Waits waits = analysis::waits_of(trace);
  out.collectives = waits.collectives;
  out.collective_seconds = waits.collective_seconds;
  out.input_seconds = waits.input_seconds;
  out.meetings = std::move(waits.meetings);
  return out;
}

RankFigures unread_figures(std::string source, std::optional<int> rank, std::string problem) {
  RankFigures out;
  out.source = std::move(source);
  out.rank = rank;
  out.problem = std::move(problem);
  return out;
}

}  // namespace genscope
