#include <genscope/analyze.h>

#include <algorithm>
#include <utility>

#include "analyze/aggregate/rank_summary.h"
#include "analyze/clocks.h"
#include "analyze/counters.h"
#include "analyze/generation/generation.h"
#include "analyze/generation/steps.h"
#include "analyze/instrument.h"
#include "analyze/resources/resources.h"
#include "analyze/settings.h"
#include "analyze/stacks.h"
#include "analyze/stage_groups.h"
#include "analyze/stage_tree.h"
#include "analyze/stages.h"
#include "analyze/telemetry.h"
#include "analyze/time.h"
#include "analyze/tracks.h"

namespace genscope {
namespace {

RecorderSummary summarize_recorder(const Run& run, const std::vector<TrackRow>& tracks) {
  RecorderSummary summary;
  for (const Trace& trace : run.traces) {
    summary.spans += trace.spans.size();
    summary.events += trace.events.size();
    summary.counters += trace.counters.size();
    summary.bytes += trace.file_bytes;
    const std::string& reason = trace.integrity.stopped;
    const bool known =
        std::find(summary.stopped.begin(), summary.stopped.end(), reason) != summary.stopped.end();
    if (!reason.empty() && !known) summary.stopped.push_back(reason);
  }
  for (const TrackRow& track : tracks) {
    summary.dropped_spans += track.dropped_spans;
    summary.dropped_records += track.dropped_records;
    if (track.tid != 0) ++summary.threads;
  }
  return summary;
}

std::optional<double> number_setting(const Settings& settings, std::string_view key) {
  const auto found = settings.find(key);
  const bool known = found != settings.end() && std::holds_alternative<double>(found->second);
  return known ? std::optional(std::get<double>(found->second)) : std::nullopt;
}

// Steps, blocks, training, requests, loads, ranks and what was told as events. Needs the settings
// and the stage table.
void add_generation(const Run& run, const analysis::Clocks& clocks,
                    const analysis::StepSeries& steps, Analysis& result) {
  result.steps = analysis::summarize_steps(steps);
  analysis::add_inside_steps(run, steps, result.steps);
  analysis::add_device_time(run, result.steps);
  result.diffusion = analysis::summarize_diffusion(run, clocks, steps);
  result.training = analysis::summarize_training(run, clocks);
  result.requests =
      analysis::summarize_requests(run, clocks, number_setting(result.settings, "target_seconds"));
  result.loads = analysis::summarize_loads(run);
  result.ranks = analysis::summarize_ranks(run, steps);
  result.multimodal = analysis::summarize_multimodal(run, result.wall_ns);
  analysis::Layers layers = analysis::layer_table(run);
  result.bottlenecks = analysis::find_bottlenecks(result.stages, layers, result.wall_ns);
  result.layers = std::move(layers.rows);
  analysis::RecordedEvents told = analysis::read_recorded_events(run, clocks);
  result.streaming = told.streaming;
  result.cache = told.cache;
  result.memory_events = told.memory;
  result.models = std::move(told.models);
}

}  // namespace

Analysis analyze(const Run& run) {
  Analysis result;
  analysis::Clocks clocks = analysis::align_clocks(run);
  result.begin_ns = clocks.begin_ns;
  result.wall_ns = analysis::subtract(clocks.end_ns, clocks.begin_ns);
  analysis::ToldSettings told = analysis::told_settings(run);
  result.settings = std::move(told.values);
  result.settings_that_differ = std::move(told.mixed);
  result.tracks = analysis::track_table(run, clocks);
  analysis::TelemetryResult sampled = analysis::collect_telemetry(run, clocks);
  result.telemetry = std::move(sampled.telemetry);
  result.counters = analysis::counter_table(run, clocks.offset_ns);
  result.recorder = summarize_recorder(run, result.tracks);
  if (sampled.probe_cpu_ns >= 0) result.recorder.probe_cpu_ns = sampled.probe_cpu_ns;
  result.recorder.probe_steady_ratio = sampled.probe_steady_ratio;

  analysis::RowTable rows(run);
  std::vector<analysis::RowSums> sums = analysis::sum_rows(run, rows);
  rows.fold(sums);
  {
    const analysis::Durations durations(run, rows, sums);
    result.stages = analysis::stage_table(run, rows, sums, durations, result.wall_ns);
  }
  analysis::add_stage_energy(run, rows, clocks, sampled.energies, result.stages);
  result.stage_groups = analysis::group_stages(run, result.wall_ns);
  result.stage_tree = analysis::stage_tree(run, result.wall_ns);
  result.sampled = analysis::summarize_stacks(run);
  const analysis::StepSeries steps = analysis::step_series(run, clocks.offset_ns);
  add_generation(run, clocks, steps, result);
  result.resources = analysis::summarize_resources(run, rows, clocks, sampled, steps, result);
  result.instrument = analysis::instrument_table(run);
  result.clock_offset_ns = std::move(clocks.offset_ns);
  return result;
}

}  // namespace genscope
