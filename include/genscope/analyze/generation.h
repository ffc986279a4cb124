// What a generation is made of: steps, blocks, epochs, requests, loads, ranks.
//
// A part of analyze.h, which says what holds for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <genscope/trace.h>

namespace genscope {

// A robust slope and its 95 % interval (Theil-Sen).
struct Slope {
  double value = 0, low = 0, high = 0;
  bool flat() const noexcept { return low <= 0 && high >= 0; }
};

struct StepOutlier {
  std::uint64_t index = 0;  // in the order of time, from 0
  std::int64_t duration_ns = 0;
  double ratio = 0;  // over the median of the steady steps
};

// The finished steps of the run in the order of time: spans of kind step, else what the program
// told as events.
struct StepSummary {
  // Longer than this times the median of the steady steps: an outlier.
  static constexpr double kOutlierRatio = 2.5;
  // Longest over shortest steady step above this: high variance.
  static constexpr double kVarianceRatio = 2.0;
  // A leading step longer than this times the median of its loop's later steps: warm-up.
  static constexpr double kWarmupRatio = 1.5;
  // Loops of fewer steps are taken together, one series per process.
  static constexpr std::uint64_t kShortestLoop = 4;
  // Fewer steady steps have no coefficient of variation, and fewer than this many no trend: no
  // order of four steps is rarer than one in twenty.
  static constexpr std::uint64_t kMinSteady = 3, kMinTrend = 5;

  std::uint64_t count = 0;
  std::int64_t first_ns = 0;                        // of the step that began first
  std::int64_t p50_ns = 0, p95_ns = 0, max_ns = 0;  // of all steps
  std::uint64_t max_index = 0;                      // of the longest, in the order of time, from 0
  // Durations in the order of time, for a small picture: of each stretch of neighbours the longest.
  static constexpr std::size_t kShape = 60;
  std::vector<std::int64_t> shape_ns;
  std::int64_t rest_p50_ns = 0;  // median of all but the first; 0 with fewer than 2 steps
  double first_ratio = 0;        // first_ns / rest_p50_ns; 0 if that is 0
  // By the device's own clock, of the steps that have it.
  std::uint64_t device_count = 0;
  std::optional<std::int64_t> device_p50_ns, device_p95_ns, device_max_ns;

  // Warm-up is split off and told apart: of each loop (steps under one stage, block or the like)
  // the leading steps that are slower than the rest, two at most. The next figures are of the
  // others; a step that failed is in none of them.
  std::uint64_t warmup_count = 0;
  std::int64_t warmup_ns = 0;  // time of the warm-up steps
  std::uint64_t steady_count = 0;
  std::optional<std::int64_t> steady_min_ns, steady_p50_ns, steady_p95_ns, steady_max_ns;
  std::optional<double> steady_cv;             // standard deviation over mean
  std::optional<Slope> trend_percent_per_100;  // steps of a process, % of the steady median
  std::optional<double> variance_ratio;        // longest over shortest steady step
  bool high_variance = false;
  std::uint64_t outlier_count = 0;
  std::vector<StepOutlier> outliers;  // the worst 100, in the order of time

  // The next figures are of the process that has most steps. The first five compare with the steady
  // median, and are absent under kMinSteady.
  static constexpr double kShortRatio = 0.5;
  std::optional<double> second_ratio;             // of its second step
  std::optional<double> jump_ratio;               // largest lasting rise among its steady steps
  std::optional<std::uint64_t> slow_count;        // outliers, warm-up and failed steps included
  std::optional<std::uint64_t> slow_inner_count;  // of these: neither its first step nor its last
  std::optional<std::uint64_t> short_count;       // below kShortRatio: skipped by a cache
  bool slow_first = false;                        // its first step is one of slow_count
  // Steps from one of slow_inner_count to the next, if there are four or more and the distances are
  // alike.
  std::optional<std::uint64_t> slow_every;
  std::optional<double> scheduler_share, hook_share;  // of its steps, by the spans in them
  std::optional<std::uint64_t> shape_changes;         // of its forwards' argument `shape`
  std::optional<std::uint64_t> slow_at_shape_count;   // of these: in a step of slow_count
};

// Video and diffusion. Frames are counted once per block, however many steps made it. Rates are
// over the time in which at least one block, or step, ran.
struct DiffusionSummary {
  std::uint64_t blocks = 0;              // that finished and did not fail
  std::uint64_t blocks_with_frames = 0;  // of these: those that say how many frames they hold
  std::optional<std::uint64_t> frames;   // of blocks_with_frames, as the next rate and mean
  std::optional<double> frames_per_second, frames_per_block;
  std::optional<double> blocks_per_second, steps_per_second;
  std::optional<std::int64_t> block_p50_ns, block_max_ns;
  std::optional<std::int64_t> first_block_ns;  // from the begin of the run to its end
  std::optional<double> first_block_ratio;     // first_block_ns over the median of the others
  std::optional<double> timestep_first, timestep_last;
  std::optional<double> guidance_min, guidance_max;
  std::optional<double> block_memory_peak_bytes;
};

// Batches and epochs of a training loop: over the whole run, and epoch by epoch.
struct BatchFigures {
  std::uint64_t count = 0;  // finished, failed ones included
  std::uint64_t failed = 0;
  std::int64_t total_ns = 0;                           // of those that did not fail
  std::optional<std::int64_t> min_ns, p50_ns, max_ns;  // likewise
  std::optional<double> mean_ns;
  std::optional<double> first_loss, last_loss, min_loss;  // argument or counter "loss"
};
struct EpochRow {
  std::uint64_t index = 0;  // its argument, else its place
  std::int64_t duration_ns = 0;
  bool failed = false;
  bool unfinished = false;  // still open: the duration reaches to the end of its record
  BatchFigures batches;
};
struct TrainingSummary {
  BatchFigures batches;                    // of the whole run, in an epoch or not
  std::vector<EpochRow> epochs;            // in the order of time
  std::optional<double> variance_ratio;    // longest over shortest batch but each process's first
  bool high_variance = false;              // above StepSummary::kVarianceRatio
  std::optional<double> input_wait_share;  // of the batches and the waits between them
  std::optional<double> encode_share;      // of the batches: in encoders and the VAE
  bool trains = false;  // an epoch, a loss or a step of an optimizer was recorded
};

// A stage, or a layer, that takes much of the run's time, by self time: shares add up.
struct Bottleneck {
  std::string name;
  SpanKind kind = SpanKind::stage;
  double self_share = 0;
  // "over 50% (bottleneck)", "over 30%", "over 20% (consider)", or "over 30% of the layers' time":
  // of a layer that was told as events, the share is of the layers' time.
  std::string threshold;
};
inline constexpr double kBottleneckShare = 0.5;  // a half: nothing else can matter more
inline constexpr double kConsiderShare = 0.2;    // worth a look
inline constexpr double kStageHeavyShare = 0.3;  // what Inferix calls heavy, stages and layers

// What Inferix records: streaming, layers, caches, memory events, models.
struct StreamingSummary {
  std::uint64_t events = 0, frames_sent = 0, frames_dropped = 0;
  std::optional<double> drop_ratio;  // dropped / (sent + dropped)
  std::optional<double> frames_per_second;
  std::optional<double> encode_ms_mean, encode_ms_max, latency_ms_mean, latency_ms_max;
  std::optional<double> buffer_mean, buffer_max;
};
struct LayerRow {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0, max_ns = 0;
  double mean_ns = 0;
  double share = 0;  // of all layers' time; a layer inside another adds nothing to that
  std::optional<double> parameters;
  std::uint64_t folded = 0;  // not 0: the row kOthers, for so many layers
};
struct CacheSummary {
  std::uint64_t hits = 0, misses = 0, evictions = 0;
  std::optional<double> hit_ratio;  // of hits and misses: an eviction is no request
  std::optional<double> size_last_bytes, evicted_bytes;
};
struct MemoryEvents {
  std::uint64_t allocations = 0, frees = 0;
  double allocated_bytes = 0, freed_bytes = 0;  // a free adds nothing to the first
  std::optional<double> small_share;            // of the allocations of known size: below 1 MiB
};
struct ModelRow {
  std::string name, type;
  double parameters = 0;
};

// Where a multimodal request spends its time.
struct MultimodalSummary {
  std::uint64_t text_calls = 0, image_calls = 0;
  std::optional<double> text_ms_mean, image_ms_mean;  // per call that had the part
  std::optional<double> text_share, image_share;  // of the run's time; above 1 if threads overlap
};

// Requests, or the sessions of a run without requests: a failed one is no success. One that was
// open when its process was killed has failed, and so has a session of a run whose exit code says
// so.
struct RequestSummary {
  bool sessions = false;    // these are sessions
  std::uint64_t count = 0;  // failed ones included; one that is still open is not counted
  std::uint64_t failed = 0;
  std::optional<double> success_ratio;
  // Made by those that did not fail: their arguments `images`; a request that does not say makes
  // one, a session that does not say is not counted.
  std::optional<std::uint64_t> images;
  std::optional<std::int64_t> p50_ns, p95_ns, max_ns;  // of those that did not fail
  // Against the setting `target_seconds`, where the program names one.
  std::optional<double> target_ratio;      // p50_ns over it
  std::optional<double> target_met_share;  // of all; a failed one did not
};

// Work that was done before in the same process, and how quick loading is.
struct LoadSummary {
  std::optional<double> bytes_per_second;       // of the loads that say their `bytes`
  std::optional<std::uint64_t> repeats;         // loads of a `file` that had been loaded
  std::optional<std::uint64_t> prompt_repeats;  // encodings of a `prompt` that had been encoded
};

// A run whose processes are ranks: who waits for whom. Of each rank its process with most spans.
struct RankSummary {
  std::uint64_t count = 0;  // 0: no process says its rank
  // In collectives, as shares of the rank's time; absent where fewer than two ranks mark them.
  std::optional<double> wait_p50_share, wait_min_share;
  std::optional<int> straggler;            // the rank that waits least
  std::optional<double> input_wait_ratio;  // longest wait for input over the median rank's
  std::optional<int> input_slowest;        // whose that is
  std::optional<double> step_ratio;        // longest median step over the median rank's
  std::optional<int> step_slowest;         // whose that is
};

}  // namespace genscope
