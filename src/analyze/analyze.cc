#include <genscope/analyze.h>

#include <utility>

#include "analyze/clocks.h"
#include "analyze/counters.h"
#include "analyze/generation/generation.h"
#include "analyze/generation/steps.h"
#include "analyze/instrument.h"
#include "analyze/resources/resources.h"
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
  }
  for (const TrackRow& track : tracks) {
    summary.lost_spans += track.lost_spans;
    summary.lost_records += track.lost_records;
    if (track.tid != 0) ++summary.threads;
  }
  return summary;
}

// Steps, blocks, training, requests and document 002's events. Needs the stage table.
void add_generation(const Run& run, const analysis::Clocks& clocks, Analysis& result) {
  {
    const analysis::StepSeries steps = analysis::step_series(run, clocks.offset_ns);
    result.steps = analysis::summarize_steps(steps);
    analysis::add_device_time(run, result.steps);
    result.diffusion = analysis::summarize_diffusion(run, clocks, steps);
  }
  result.training = analysis::summarize_training(run, clocks);
  result.requests = analysis::summarize_requests(run, clocks);
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
  result.tracks = analysis::track_table(run, clocks);
  analysis::TelemetryResult sampled = analysis::collect_telemetry(run, clocks);
  result.telemetry = std::move(sampled.telemetry);
  result.counters = analysis::counter_table(run, clocks.offset_ns, sampled.names);
  result.recorder = summarize_recorder(run, result.tracks);
  if (sampled.probe_cpu_ns >= 0) result.recorder.probe_cpu_ns = sampled.probe_cpu_ns;

  const analysis::RowTable rows(run);
  const std::vector<analysis::RowSums> sums = analysis::sum_rows(run, rows);
  {
    const analysis::Durations durations(run, rows, sums);
    result.stages = analysis::stage_table(run, rows, sums, durations, result.wall_ns);
  }
  analysis::add_stage_energy(run, rows, clocks, sampled.energies, result.stages);
  add_generation(run, clocks, result);
  result.resources = analysis::summarize_resources(run, rows, clocks, sampled, result);
  result.instrument = analysis::instrument_table(run);
  result.clock_offset_ns = std::move(clocks.offset_ns);
  return result;
}

}  // namespace genscope
