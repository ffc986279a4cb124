// The subjects of part 2 of genscope/analyze.h but for steps (steps.h): one function and one source
// file each. docs/analysis.md says which names and arguments they read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <genscope/analyze.h>

#include "analyze/clocks.h"
#include "analyze/generation/step_series.h"

namespace genscope::analysis {

// diffusion.cc: blocks, frames, rates, timesteps. Sorts the blocks if tracks interleave.
DiffusionSummary summarize_diffusion(const Run& run, const Clocks& clocks, const StepSeries& steps);

// training.cc: epochs and batches; training_parts.cc: what the batches spend in input and encoders.
TrainingSummary summarize_training(const Run& run, const Clocks& clocks);
struct BatchParts {
  std::optional<double> input_wait_share, encode_share;
};
BatchParts parts_of_batches(const Run& run);

// requests.cc; `target_seconds`: what one may take, if the program says so.
RequestSummary summarize_requests(const Run& run, const Clocks& clocks,
                                  std::optional<double> target_seconds);

// loads.cc
LoadSummary summarize_loads(const Run& run);

// multimodal.cc
MultimodalSummary summarize_multimodal(const Run& run, std::int64_t wall_ns);

// layers.cc: events `layer`; of a process that has none, spans of kind function with an argument
// `parameters`. `told` says that the rows are from events, which the stage table does not hold.
struct Layers {
  std::vector<LayerRow> rows;
  bool told = false;
};
Layers layer_table(const Run& run);

// bottlenecks.cc
std::vector<Bottleneck> find_bottlenecks(const std::vector<StageRow>& stages, const Layers& layers,
                                         std::int64_t wall_ns);

// recorded_events.cc: what else Inferix records, in one pass over the events.
struct RecordedEvents {
  std::optional<StreamingSummary> streaming;
  std::optional<CacheSummary> cache;
  std::optional<MemoryEvents> memory;
  std::vector<ModelRow> models;
};
RecordedEvents read_recorded_events(const Run& run, const Clocks& clocks);

}  // namespace genscope::analysis
