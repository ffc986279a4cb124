// Analysis: pure functions from a Run to the figures that reports show, from two sides of runs to a
// verdict, and from many ranks to one table. No I/O, no clock, no state.
//
//   const genscope::Analysis analysis = genscope::analyze(run);
//   for (const genscope::StageRow& row : analysis.stages) say(row.name, row.total_ns);
//
// Place in the flow: after store.h, before advise.h and report.h. docs/analysis.md says which names
// and arguments each figure is read from, docs/statistics.md how a verdict comes about.
//
// An optional that is empty was not measured, or there was too little of it; a field `reason` or
// `note` beside it says which.
//
//   analyze/stages.h       what ran, and for how long: stages, settings, tracks, counters
//   analyze/generation.h   what a generation is made of: steps, blocks, epochs, requests
//   analyze/telemetry.h    what samples add up to
//   analyze/resources.h    memory, processors, energy and GPU time by stage
//   analyze/sampled.h      which functions the time went to, by sampled stacks
//   this header            Analysis and analyze(): all of it
//   analyze/verdict.h      did a change make a figure better, worse, or neither?
//   analyze/compare.h      the runs before and the runs after a change
//   analyze/ranks.h        many ranks, or many runs, as one
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/analyze/compare.h>
#include <genscope/analyze/generation.h>
#include <genscope/analyze/ranks.h>
#include <genscope/analyze/resources.h>
#include <genscope/analyze/sampled.h>
#include <genscope/analyze/stages.h>
#include <genscope/analyze/telemetry.h>
#include <genscope/analyze/verdict.h>
#include <genscope/trace.h>

namespace genscope {

// How a run ended, as far as anything tells.
enum class RunEnd : std::uint8_t {
  fine,         // exit code 0; without one: every process closed its recording
  failed,       // another exit code
  killed,       // by a signal: an exit code of 128 + its number
  interrupted,  // by SIGINT
  running,      // a process still records
  cut_off,      // nothing waited for it, and a process ended without closing its recording
};
// "ok", "failed", "killed", "interrupted", "running", "cut off".
std::string_view name(RunEnd end) noexcept;

struct RunEnding {
  RunEnd how = RunEnd::fine;
  std::optional<int> exit_code;
  std::string signal;  // "SIGKILL", of killed and interrupted
};
RunEnding run_ending(const Run& run);
// "ok", "failed (exit 1)", "killed (SIGKILL)", "interrupted", "running", "cut off".
std::string ending_text(const RunEnding& ending);

struct Analysis {
  std::int64_t begin_ns = 0;  // earliest recording, on the first process's scale
  std::int64_t wall_ns = 0;
  // Per trace: add it to a time of that trace to have it on the first process's scale. 0 within
  // one boot, whose processes share a clock; else the difference of their Unix clocks.
  std::vector<std::int64_t> clock_offset_ns;
  // By kind in the order of SpanKind (none last), then by total_ns, largest first, then by name;
  // the row kOthers is the last of its kind.
  std::vector<StageRow> stages;
  std::vector<StageGroup> stage_groups;  // largest share first; at most kMaxNamedRows
  StageTree stage_tree;                  // at most kMaxNamedRows nodes by name
  Sampled sampled;                       // stacks
  // Of several values of a setting that under which most requests began.
  Settings settings;
  std::vector<MixedSetting> settings_that_differ;  // by key: `settings` is not all of the truth
  StepSummary steps;
  DiffusionSummary diffusion;
  TrainingSummary training;
  RequestSummary requests;
  MultimodalSummary multimodal;
  LoadSummary loads;
  RankSummary ranks;
  std::vector<Bottleneck> bottlenecks;  // largest share first
  std::optional<StreamingSummary> streaming;
  std::vector<LayerRow> layers;  // largest total first
  std::optional<CacheSummary> cache;
  std::optional<MemoryEvents> memory_events;
  std::vector<ModelRow> models;  // as the program named them
  std::vector<TrackRow> tracks;
  std::vector<CounterRow> counters;  // the user's, by name; kOthers last
  Telemetry telemetry;               // what probes sampled
  Resources resources;               // of stages and steps, from telemetry and device spans
  RecorderSummary recorder;
  std::vector<InstrumentRow> instrument;
};

// Linear in the spans; needs some 8 bytes a span, and 50 a step or batch, while it works.
Analysis analyze(const Run& run);

}  // namespace genscope
