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
//   1. stages, settings, tracks, counters    what ran, and for how long
//   2. steps, blocks, epochs, requests       what a generation is made of
//   3. telemetry                             what samples add up to
//   4. resources                             memory, processors, energy and GPU time by stage
//   5. Analysis and analyze()                all of it
//   6. verdicts                              did a change make a figure better, worse, or neither?
//   7. comparison                            the runs before and the runs after a change
//   8. ranks                                 many ranks, or many runs, as one
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <genscope/trace.h>

namespace genscope {

// ---- 1. stages, settings, tracks, counters

// Rows that a table of an Analysis has at most of one kind, beside the row kOthers that sums up the
// others: a program that makes a new name for each request must not make a report without end.
inline constexpr std::size_t kMaxNamedRows = 1000;
inline constexpr std::string_view kOthers = "others";

// All spans of one name and kind, over all threads and processes. Of more than kMaxNamedRows names
// of one kind those with the most self time have a row.
struct StageRow {
  std::string name;
  SpanKind kind = SpanKind::none;
  std::uint64_t count = 0;  // finished spans; min, mean, the percentiles and max are over these
  // Time covered, unfinished spans included up to where their record ends: a span inside another
  // of the same row on the same thread's stack adds nothing. Detached spans overlap freely, so
  // each counts, less what lies within a direct parent of the same row.
  std::int64_t total_ns = 0;
  // Duration less what direct children cover. Children of a thread's stack span are the stack
  // spans in it, so that over all rows no instant of a thread's stack counts twice; detached
  // children and those on other tracks run beside it and take nothing. Of a detached span it is
  // what none of its direct children covers, and of a session, which spans its whole process, the
  // time in which no thread of the process was in any other span.
  std::int64_t self_ns = 0;
  double share = 0;  // total_ns / wall_ns of the run; above 1 when threads overlap; 0 if wall is 0
  // Nearest rank; all 0 when `count` is 0.
  std::int64_t min_ns = 0, p50_ns = 0, p95_ns = 0, p99_ns = 0, max_ns = 0;
  double mean_ns = 0;
  std::optional<std::int64_t> device_ns;  // sum over the spans that have device time
  std::uint64_t device_spans = 0;         // how many have it
  // The times above are of the host's clock, but for these spans.
  std::uint64_t log_spans = 0;       // read from a program's log (source="log"): when lines came
  std::uint64_t imported_spans = 0;  // of a file of another profiler: as that has them
  std::uint64_t failed = 0;
  std::uint64_t unfinished = 0;  // still open when the recording ended
  // Of all devices while these spans ran; absent without energy readings, for kinds that are too
  // many and short, and for rows shorter than three readings. Rows that overlap share it.
  std::optional<double> energy_joules;
  std::uint64_t folded = 0;  // not 0: the row kOthers of its kind, for so many names
};

// All stages and loads that do one thing, whatever programs call it: load, text_encode, vae_encode,
// denoise, vae_decode, post, save, or a stage's own name where it is none of these. What a stage
// spends in steps, layers and other spans is its own, what it spends in another stage is not, so
// that these shares add up.
struct StageGroup {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t exclusive_ns = 0;
  double exclusive_share = 0;         // of the wall time of the processes that have stages
  std::optional<double> first_ratio;  // first call over the median of the later ones, of 3 or more
};

// Where the time of the processes that mark stages goes: loads, stages, blocks, requests, batches
// and epochs, one node per name, kind and node around it. What runs in a node but in none of its
// own is its self time, steps and layers included.
struct StageNode {
  std::string name;
  SpanKind kind = SpanKind::stage;
  std::uint32_t parent = kNone;  // its index in StageTree::nodes; kNone: in no other
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;  // of all its spans
  std::int64_t self_ns = 0;   // less what nodes within it cover
  std::uint64_t steps = 0;    // finished steps in it and in no node within it
};
struct StageTree {
  std::vector<StageNode> nodes;  // a node before those in it; siblings by total, largest first
  std::uint64_t processes = 0;   // that have a node
  std::int64_t wall_ns = 0;      // of the run, times `processes`
  std::int64_t outside_ns = 0;   // of that, covered by no node of its process
};

// What a program says of itself (docs/analysis.md): the arguments of its sessions and of the events
// `config` and `environment`.
using SettingValue = std::variant<double, bool, std::string>;
using Settings = std::map<std::string, SettingValue, std::less<>>;
struct SettingUse {
  SettingValue value;
  std::uint64_t requests = 0;
};
// A key of which at least two values had requests; those values, in the order in which they were
// told.
struct MixedSetting {
  std::string key;
  std::vector<SettingUse> values;
};

// A thread or named track that recorded or lost something.
struct TrackRow {
  std::uint32_t trace = 0;  // index into Run::traces
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;  // 0 for a named track
  std::string name;
  std::uint64_t spans = 0;
  std::int64_t busy_ns = 0;                // covered by at least one span that is not a session
  std::int64_t first_ns = 0, last_ns = 0;  // of its spans, since Analysis::begin_ns
  std::uint64_t dropped_spans = 0, dropped_records = 0;
};

// A counter of one name, over all processes, in order of time. Of more than kMaxNamedRows those
// with the most values have a row.
struct CounterRow {
  std::string name;
  std::uint64_t count = 0;
  std::uint64_t not_finite = 0;       // of these: NaN or infinite, left out of the next line
  double min = 0, max = 0, mean = 0;  // 0 when no value is finite
  double first = 0, last = 0;         // as recorded
  std::uint64_t folded = 0;  // not 0: the row kOthers, for so many names; first and last are 0
};

struct RecorderSummary {
  std::uint64_t spans = 0, events = 0, counters = 0;
  std::uint64_t dropped_spans = 0, dropped_records = 0;
  std::uint64_t threads = 0;  // of the tracks, those that are threads
  std::uint64_t bytes = 0;
  std::optional<std::int64_t> probe_cpu_ns;  // of all of genscope's threads
  // The same from each sampler's first reading on, over that time, as a share of one core: what
  // sampling more or less often would change. Starting the probes is not in it. Absent: the run had
  // one reading only.
  std::optional<double> probe_steady_ratio;
  std::vector<std::string> stopped;  // why recording ended early, each reason once
};

// What genscope hooked into by itself, or could not (docs/python.md).
struct InstrumentRow {
  std::string target;           // "diffusers", "diffusers.FluxPipeline"
  bool hooked = false;          // else `reason` says why not
  std::string reason;           // of a hook that works: what it records; may be empty
  std::uint64_t processes = 1;  // that said the same
};

// ---- 2. steps, blocks, epochs, requests

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

// ---- 3. telemetry: what the samples of a run add up to

// All readings of one metric of one entity.
struct SeriesRow {
  std::shared_ptr<const Metric> metric;  // of the table, or the program's own; never null
  std::string source;                    // where they come from: "nvml field 186 scope 0"
  std::uint64_t count = 0;  // good readings; the next line is over these, 0 if there is none
  double min = 0, max = 0, first = 0, last = 0;
  double mean = 0;             // weighted by time
  double growth = 0;           // of a counter: the sum of its steps up; resets add nothing
  std::uint64_t resets = 0;    // of a counter: steps down
  std::uint64_t bits = 0;      // of a set of flags: every flag that was seen
  double flagged_seconds = 0;  // of throttle_reasons: time with a flag that is a fault
  double covered_seconds = 0;  // for which there are readings
  // The last status that was not ok, if the series has no value or lost it; ok otherwise.
  SampleStatus status = SampleStatus::ok;
  std::string reason;
};

enum class EnergyMethod : std::uint8_t {
  none,        // nothing to tell it from
  counter,     // the device's own counter
  integrated,  // its power, integrated over time
};
std::string_view name(EnergyMethod method) noexcept;

// Energy of a device over a time. Seconds that nothing covers are said, not guessed.
struct Energy {
  std::optional<double> joules;
  EnergyMethod method = EnergyMethod::none;
  double covered_seconds = 0;
  double uncovered_seconds = 0;
  std::uint64_t resets = 0;
  std::string note;  // a doubt: the counter stood still, or disagrees with the power
};

struct EntityRow {
  Entity entity;
  std::uint32_t trace = 0;  // index into Run::traces
  std::vector<SeriesRow> series;
  std::optional<Energy> energy;  // of what can have energy: GPUs and CPU packages

  // The series of that metric, or null.
  const SeriesRow* find(std::string_view metric) const noexcept;
  // A figure of a series that has one: value(row, &SeriesRow::max).
  std::optional<double> value(std::string_view metric, double SeriesRow::*figure) const noexcept;
  // A fact of the entity; empty if it has none of that name.
  std::string fact(std::string_view key) const;
};

// A process of the watched tree, or one that used a GPU, at its most.
struct ProcessUse {
  std::string entity;  // id of what it was seen in: "tree", or a GPU
  std::uint32_t pid = 0, parent = 0;
  std::string name;
  std::optional<double> cpu_ns, rss_bytes, gpu_memory_bytes;
};

struct TelemetryEvent {
  std::int64_t at_ns = 0;  // since Analysis::begin_ns
  std::string entity;
  std::string name;  // "device_lost"
  std::string detail;
};

// A caching allocator taken apart. Absent: cannot be told from what was fed in.
struct AllocatorParts {
  std::optional<double> cache_slack_bytes;   // reserved - allocated: cache, not fragmentation
  std::optional<double> rounding_bytes;      // allocated - requested: internal fragmentation
  std::optional<double> pending_free_bytes;  // active - allocated: waits for a stream
  std::optional<double> pinned_bytes;        // inactive split: external fragmentation proper
  std::optional<double> releasable_bytes;    // reserved - active - inactive split
  std::optional<double> outside_bytes;       // seen by the driver, not by the allocator
};
struct AllocatorRow {
  std::string device;
  // At the moment of the highest reservation.
  std::optional<double> requested_bytes, allocated_bytes, active_bytes, reserved_bytes,
      inactive_split_bytes;
  std::optional<double> retries, ooms;  // over the run
  AllocatorParts parts;
};

struct Telemetry {
  std::vector<EntityRow> entities;  // in the order in which they appeared
  std::vector<ProcessUse> processes;
  std::vector<TelemetryEvent> events;
  std::vector<AllocatorRow> allocators;

  // The first entity of that kind, or null.
  const EntityRow* first(EntityKind kind) const noexcept;
  // Sum of the energy of all devices that have it; absent if none has.
  std::optional<double> joules() const noexcept;
};

// Whether a series is one of the program's own: of a probe of its own, or of its service's
// requests. What it means is not known here, so that reports list it as it is.
bool is_own(const EntityRow& entity, const SeriesRow& series) noexcept;

// What can be told of an allocator from its figures; `driver_bytes`: what the driver says that the
// process holds on that device, if known.
AllocatorParts take_apart(const AllocatorRow& row, std::optional<double> driver_bytes) noexcept;

// ---- 4. resources: memory, processors, energy and the GPU's time against stages and steps

// Fewer readings than this inside a stage tell nothing of it.
inline constexpr std::uint64_t kMinSamples = 3;

// A metric while the spans of a stage ran.
struct UseFigure {
  std::uint64_t samples = 0;
  std::optional<double> mean, max;  // absent under kMinSamples
};

// What a stage used: one row per stage, load, block, batch, epoch and request row of
// Analysis::stages, and one for all steps.
struct StageUse {
  std::string name;
  SpanKind kind = SpanKind::stage;
  UseFigure cpu_cores;         // of the watched tree: 1 is one core
  UseFigure rss_bytes;         // of the watched tree
  UseFigure gpu_busy_ratio;    // mean over the GPUs that the run used
  UseFigure gpu_memory_bytes;  // sum over GPUs: the tree's where known, else the device's
  UseFigure gpu_power_watts;   // sum over GPUs
  std::optional<double> energy_joules;
  double energy_covered = 0;  // share of the stage's time with energy readings
  std::string reason;         // why figures are absent; "" if none is
  std::uint64_t folded = 0;   // as in its StageRow
};

struct MemoryGrowth {
  std::string what;  // "host" or a GPU's id
  std::optional<Slope>
      bytes_per_second;  // of the steady steps, else of the run after its first quarter
  std::optional<double> growth_ratio;  // over the value at the begin of that stretch
  std::string stretch;                 // "steady steps" or "after the first quarter"
  std::uint64_t samples = 0;
  // The interval is above 0 over the stretch and over its last half, the growth is over
  // kLeakGrowth, the readings are kLeakSamples or more (below, the interval is rough) and the
  // stretch is kLeakSeconds or longer (before, many programs still fill what they will keep).
  bool leak = false;
  std::string stage;   // in which most of the growth falls; "" if none stands out
  std::string reason;  // why there is no slope
};
inline constexpr double kLeakGrowth = 0.02;
inline constexpr std::uint64_t kLeakSamples = 10;
inline constexpr double kLeakSeconds = 15;

// Energy per thing made, with how much of the time readings cover.
struct EnergyPerUnit {
  std::string unit;  // "image", "frame", "step", "request", "batch"
  std::uint64_t count = 0;
  double joules_each = 0;
  double covered = 0;
};

struct ThrottleShare {
  std::string gpu;
  std::string cause;  // "thermal", "power cap", "hardware slowdown", "power brake", ...
  double share = 0;   // of the samples
  std::uint64_t samples = 0;
};

// Model FLOP utilisation of the steady steps, where model, size and GPU are known.
struct Utilisation {
  std::optional<double> mfu;  // of the median steady step
  std::string band;           // "good", "fair", "poor"
  std::optional<double> predicted_step_ns;
  std::optional<double> tflops;  // reached
  std::string bound;             // "compute", "memory", "link"
  std::string model, hardware;
  std::string note;    // a doubt
  std::string reason;  // why there is none
  // Of each step of Analysis::steps in the order of time, the first 10,000; NaN where a step has no
  // length; empty if unknown.
  std::vector<float> per_step;
  std::optional<double> forwards_per_step;  // counted, where forward spans are marked in steps
  // For the facts of rules; absent without a prediction. `peak_bytes`: beyond the weights;
  // `offload_ns`: the denoiser's weights once over the link for each forward that reads them.
  std::optional<double> attention_share, attention_bytes, vae_bytes, peak_bytes, offload_ns,
      peak_tflops;
};

// The GPU's timeline from kernels: spans on tracks "gpu:<device>/stream:<stream>", as an import
// makes them (docs/import.md) or a program names them.
struct DeviceTimeline {
  // A gap before a kernel that had been launched counts as kernel wait up to this long. Holistic
  // Trace Analysis takes 30 ns, which is below what most GPUs need between two kernels.
  static constexpr std::int64_t kKernelWaitNs = 2'000;

  std::string device;                     // "gpu:0"; with several processes "rank 3 gpu:0"
  std::int64_t begin_ns = 0, end_ns = 0;  // first kernel's begin, last one's end; since the run's
  std::int64_t busy_ns = 0;               // at least one kernel or copy runs
  std::int64_t compute_ns = 0, communication_ns = 0, copy_ns = 0;
  std::int64_t overlap_ns = 0;           // communication or copies under compute
  std::int64_t exposed_ns = 0;           // communication or copies with no compute beside
  std::int64_t idle_host_wait_ns = 0;    // the host had not launched the next kernel
  std::int64_t idle_kernel_wait_ns = 0;  // launched; short gaps between kernels
  std::int64_t idle_other_ns = 0;
  std::uint64_t kernels = 0;         // copies not counted
  std::uint64_t without_launch = 0;  // of kernels and copies: no launch is known
};
struct KernelRow {
  std::string stage;  // stage in which the host launched it; "" outside of any
  std::string name;
  std::uint64_t count = 0;
  std::int64_t total_ns = 0;
};

// What the host and the link did within the steps, from imported calls and copies. Absent: nothing
// tells, and `reason` says why.
struct StepTraffic {
  std::uint64_t steps = 0;               // of the processes that have calls
  std::optional<double> syncs_per_step;  // calls that wait for the GPU
  // Those of them made to log a loss or metric; nothing if no span of the trace logs.
  std::optional<double> log_syncs_per_step;
  std::optional<double> h2d_copies_per_step, h2d_bytes_per_step;
  std::optional<double> h2d_bytes_per_second;  // while they run
  std::string reason;
};

// Whose clock the spans show: where the host does not wait for the GPU, a span ends when its work
// is queued. Absent: no span is a wait for the GPU, and none carries GPU time.
struct SpanClock {
  std::optional<bool> gpu;  // spans carry GPU time, or the host waited at the ends of most
  // Of the wall time, in the spans around a wait or last before it, without those inside.
  std::optional<double> last_span_share;
  std::optional<double> stages_per_busy_ratio;  // time of the stages over the GPUs' busy time
};

// Of several GPUs the busiest. "In the steps": where there are any, else over the run.
struct GpuUse {
  std::string id;                    // "": no GPU was seen
  std::optional<double> busy_ratio;  // in the steps, of all that the run used; exact with kernels
  std::optional<double> first_step_busy_ratio;
  std::optional<double> clock_ratio;        // in the steps: mean core clock over its maximum
  std::optional<double> clock_drift_ratio;  // from the first quarter of the steps to the last
  std::optional<double> memory_total_bytes, memory_peak_bytes, tree_memory_peak_bytes;
  std::uint64_t count = 0;                       // GPUs that were seen
  std::optional<std::uint64_t> other_processes;  // that used it; absent where no probe lists them
};

// Where the wall time of the watched processes went, whatever they marked. Of each stretch between
// two readings: what was on a CPU at most the whole stretch, then what was ready and had no CPU,
// then what waited for storage; the rest slept or waited for something else (a timer, a network, a
// lock, a GPU). The four add up to 1. Threads that run at once count as one after the other within
// a stretch (a second, usually).
struct TimeSplit {
  std::optional<double> on_cpu_share, ready_share, storage_share, other_share;
  // Of the time in which threads could run, each counted: that in which they had no CPU.
  std::optional<double> cpu_wait_share;
  double covered_seconds = 0;
  std::string reason;  // why shares are absent; "" if none is
};
struct HostUse {
  // The CPUs that the run may use (the machine's, or the control group's limit), and how many it,
  // and all others on the machine, used on average.
  std::optional<double> cpus, own_cores, other_cores;
  std::optional<double> steal_share;      // of the CPUs' time, taken by the hypervisor
  std::optional<double> throttled_share;  // of the time: the control group's quota held tasks back
  std::optional<double> threads_seen;     // of the tree at once, the most that a reading saw
  std::optional<double> rss_peak_bytes, swap_peak_bytes;  // of the tree
  std::optional<double> read_bytes, write_bytes;          // of the tree, to and from storage
  std::optional<double> main_thread_busy_ratio;           // in the steady steps where there are any
  std::string main_thread_reason;                         // why not
  std::optional<double> major_faults_per_second, read_bytes_per_second;
  std::optional<double> memory_peak_share;  // of the machine's memory, all processes
};

// The first caching allocator's figure in bytes, within spans.
struct AllocatorUse {
  std::optional<double> step_rise_bytes;       // largest rise within a step
  std::optional<double> request_growth_ratio;  // of the peak from request to request, median
  std::string step_reason, request_reason;     // why not
};

struct Resources {
  std::vector<StageUse> stages;
  std::vector<MemoryGrowth> growth;
  std::vector<EnergyPerUnit> energy;
  std::vector<ThrottleShare> throttling;
  Utilisation utilisation;
  std::vector<DeviceTimeline> devices;
  std::vector<KernelRow> kernels;        // the 50 with the most time
  std::optional<double> device_overlap;  // of the time of any, that of two or more; from `devices`
  StepTraffic step_traffic;
  // GPUs that did work for the run: those in which its processes hold memory; where no driver tells
  // it, those that were busy at all. Absent without readings or kernels.
  std::optional<std::uint64_t> gpus_used;
  SpanClock span_clock;
  TimeSplit time;
  GpuUse gpu;
  HostUse host;
  AllocatorUse allocator;
};

// ---- 5. all of it

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

// ---- 6. verdicts. The unit of inference is the run: give one value for each run or slot (the
// median of its iterations). A verdict is an interval of after / before, set against a floor: the
// larger of the effect that the user cares about and the noise of this machine. There is no bare
// p-value.

namespace stats {
struct Interval {
  double low = 0, high = 0;
  double confidence = 0;  // what it reaches
};
}  // namespace stats

enum class Verdict : std::uint8_t {
  regressed,       // the interval lies beyond the floor, on the bad side
  improved,        // the same on the good side
  unchanged,       // the interval lies within the floor
  inconclusive,    // the interval reaches over its edge: more runs
  insufficient,    // too few runs for an interval
  incomparable,    // not the same work or environment, or values that cannot be compared
  clock_shift,     // the time moved, the clock cycles did not
  slower_machine,  // same work, slower machine: the time moved, less waiting for others it did not
};
std::string_view name(Verdict verdict) noexcept;  // "regressed", ...

enum class Direction : std::uint8_t { lower_is_better, higher_is_better };

enum class JudgeMethod : std::uint8_t {
  none,
  hodges_lehmann,  // median of all ratios of two runs, with its distribution-free interval
  paired_sign,     // median ratio of the pairs, with the interval of the sign test
  student,         // Welch's interval of the mean logarithms, for very few runs
};
std::string_view name(JudgeMethod method) noexcept;

enum class FloorSource : std::uint8_t { effect, noise, absolute, resolution };
std::string_view name(FloorSource source) noexcept;

struct JudgeOptions {
  double min_effect = 0.01;               // smallest relative change that matters; at least 0
  std::optional<double> noise = {};       // noise_floor() of this machine
  std::optional<double> abs_floor = {};   // smallest change that matters, in the figure's unit
  std::optional<double> resolution = {};  // of the clock, in the figure's unit
  Direction direction = Direction::lower_is_better;
  double confidence = 0.95;
  double power = 0.8;        // for the smallest effect that would have been seen
  bool paired = false;       // before[i] and after[i] ran next to each other, in turns (ABBA)
  bool interleaved = false;  // the sides ran in turns; implied by `paired`
  // With too few runs for the distribution-free interval (3 against 3 at 95 %): also judge by
  // Student's, if the two sides do not overlap. It trusts logarithms to be near normal.
  bool few_by_student = false;
  // Where the time alone leaves it open, because others kept the CPU busy, and Measured::own_time
  // is known: judge by that.
  bool decide_by_own_time = false;
  std::vector<std::string> incomparable = {};  // why the sides cannot be compared; empty: they can
};

// What was measured on one side, one value for each run. Lists besides `values` may be empty: not
// known.
struct Measured {
  std::vector<double> values;
  std::vector<double> cycles;    // clock cycles spent: time * clock of the GPU or the CPU
  std::vector<double> own_time;  // time less what others took: waiting for a CPU, throttling, steal
  std::vector<double> cpu_time;  // for the sentence about one run each
};

struct Judgement {
  Verdict verdict = Verdict::insufficient;
  std::string reason;              // in a sentence
  std::vector<std::string> notes;  // doubts, in sentences
  JudgeMethod method = JudgeMethod::none;
  std::size_t before_n = 0, after_n = 0;    // runs
  std::size_t pairs = 0;                    // above 0 if the runs were paired
  std::optional<double> before, after;      // medians
  std::optional<double> ratio;              // after / before; absent where a value is 0 or less
  std::optional<stats::Interval> interval;  // of the ratio, with what it reaches
  // Where there is no ratio: after - before, in the figure's unit, and its interval.
  std::optional<double> difference;
  std::optional<stats::Interval> difference_interval;
  double confidence = 0.95;  // what was asked for
  double floor = 0;          // relative; in the figure's unit if there is no ratio
  FloorSource floor_source = FloorSource::effect;
  std::optional<double> mde;  // smallest relative effect that would have been seen, floor included
  std::optional<double> p_value;             // of "no change", two-sided
  std::optional<double> p_floor;             // of "no change beyond the floor": what gates correct
  std::optional<double> p_adjusted, q;       // Holm over gates, Benjamini-Hochberg: correct_gates()
  std::optional<double> pair_correlation;    // Spearman's rho of the pairs
  std::optional<std::uint64_t> runs_needed;  // a side, to decide; of an inconclusive one
  std::optional<double> cycles_ratio, own_time_ratio;
  std::optional<stats::Interval> own_time_interval;
  bool by_own_time = false;  // the verdict, its p-values and `mde` are those of Measured::own_time
  std::optional<double> cpu_explains;  // of one run each: share of the difference in CPU time
  bool drift_unprotected = false;      // the sides ran one after the other
};

// Runs a side: 1 to any number. O(n log n), and for at most stats::kExactPairs pairs the exact
// distribution.
Judgement judge(const Measured& before, const Measured& after, const JudgeOptions& options = {});
Judgement judge(std::span<const double> before, std::span<const double> after,
                const JudgeOptions& options = {});

// Why it differs: the difference of two sides over the parts of a run. Means, which add up.
struct PartChange {
  std::string name;
  double before = 0, after = 0;             // means
  double difference = 0;                    // after - before
  std::optional<stats::Interval> interval;  // of the difference; absent for one run
  std::optional<double> share;              // of the whole difference; absent if that is 0
  std::vector<PartChange> of;  // "steps" (their number) and "per step", which add up to this one
};
struct Attribution {
  PartChange total;
  std::vector<PartChange> parts;   // the last is "outside"; their differences add up to total's
  std::vector<std::string> notes;  // parts left out, in sentences
};

// Scores of 0 to 100 against a target.
struct TargetScore {
  double score = 0;  // 100 target / measured, at most 100; the reverse if higher is better
  bool met = false;
  std::optional<bool> confident;  // the bad end of the interval meets it too; with an interval
};

// ---- 7. comparison: the runs before and the runs after a change, one or several of each. First
// what differs in how they were made, then what differs in what they took. Each run has one value
// of a row; one run each gives figures and no verdict.

// Something about how the runs were made that is not the same on both sides. docs/compare.md has
// the table of keys.
struct Difference {
  std::string key;                           // "gpu", "driver", "torch", "steps", "lora.active"
  std::optional<std::string> before, after;  // absent: that side does not say
  // Of the workload: the sides did different work. Of the environment: a library, a driver or
  // hardware, which may explain a change by itself. False where one side does not say.
  bool decisive = false;
};

enum class Presence : std::uint8_t {
  both,
  appeared,  // only in runs of the second side
  vanished,  // only in runs of the first
};
std::string_view name(Presence presence) noexcept;

// What an interval is about.
enum class IntervalOver : std::uint8_t {
  none,   // there is no interval
  runs,   // runs that the same program would make
  spans,  // the spans of these two runs, and no other run
};
std::string_view name(IntervalOver over) noexcept;

// One figure on both sides. Spans that failed or never finished are left out.
struct ChangeRow {
  std::string name;  // "vae_decode", "steady step", "peak RSS", "energy per image"
  std::string kind;  // kind of the spans, or "run", "cpu", "memory", "energy"
  std::string unit;  // "ns", "bytes", "joules"
  // Of each run the median of its spans, or its value; of a side the median of its runs.
  std::optional<double> before, after;
  std::uint64_t before_runs = 0, after_runs = 0;    // that have it
  std::uint64_t before_count = 0, after_count = 0;  // spans of all; 1 a run for its own figures
  std::optional<double> percent;                    // (after - before) / before * 100
  std::optional<double> factor;  // before / after: 2 is twice as fast, or half as much
  // 95 %, of the factor. Of several runs a side, the judgement's; of one run each, of their spans
  // (Hodges-Lehmann shift of the logarithms), where both have enough.
  std::optional<double> factor_low, factor_high;
  IntervalOver interval_over = IntervalOver::none;
  Presence presence = Presence::both;
  Judgement judgement;  // of one run each: insufficient
};

// "regressed", "unchanged", ..., "appeared", "vanished"; "not measured" if a side has no value.
std::string_view row_verdict(const ChangeRow& row) noexcept;

// A generation before and after, as generation monitors compare it: medians of the runs, no
// verdict.
struct BeforeAfter {
  // Of a generation: the median request that did not fail, else session, else the wall time.
  std::optional<double> before_seconds, after_seconds;
  // The median steady step, else the median step.
  std::optional<double> before_step_seconds, after_step_seconds;
  std::optional<std::string> before_model, after_model;             // as the program names it
  std::optional<double> total_time_percent, per_step_time_percent;  // improvement: > 0 is faster
  std::optional<double> improvement_factor;
  std::optional<bool> faster, significant_improvement;      // significant: over 50 %
  std::optional<bool> before_target_met, after_target_met;  // with a target
  std::optional<double> before_score, after_score;          // min(100, target / total * 100)
  std::optional<bool> target_status_change;                 // met now, and not before
  std::optional<bool> meets_target_now;
};

struct CompareOptions {
  std::optional<double> target_seconds = {};  // of a generation
  double noise_floor = 0.02;                  // a ratio: changes within it are none
  bool force = false;                         // compare what cannot be compared
};

struct ComparedRun {
  std::string name, id, path;
  std::optional<double> total_ns;  // its value of what the verdict is about
};

struct Comparison {
  std::vector<ComparedRun> before, after;
  // The run of each side whose total is nearest to the side's median: the one to draw.
  std::size_t typical_before = 0, typical_after = 0;
  std::vector<Difference> environment;  // libraries, driver, hardware, host, genscope
  std::vector<Difference> workload;     // model, size, steps, dtype, LoRA, ...
  std::vector<Difference> other;        // command, seed, prompt, what genscope does not know
  std::uint64_t env_changes = 0;        // decisive ones of the environment: rule ENV-DRIFT
  // Why the sides cannot be compared, in sentences: another workload, a run that failed, nothing in
  // common. Empty: they can. Else rows and before_after are empty too, unless `forced`.
  std::vector<std::string> incomparable;
  bool forced = false;             // compared nevertheless, as CompareOptions::force asks
  std::vector<std::string> notes;  // doubts, in sentences
  double noise_floor = 0;
  bool interleaved = false;  // the sides ran in turns
  // The run; steps; spans by kind, largest total first; memory and energy.
  std::vector<ChangeRow> rows;
  std::uint64_t rows_left_out = 0;  // of spans: beyond the 200 with the most time
  BeforeAfter before_after;
  // What the verdict is about: "wall time", or "request" where every run has at least two (then
  // their mean, which a slow one cannot hide in).
  std::string total;
  Judgement judgement;                     // of the total
  std::optional<Attribution> attribution;  // of the total's difference, in seconds
  std::string headline;                    // the verdict with its reason, in sentences
};

struct RunAndAnalysis {
  const Run& run;
  const Analysis& analysis;
};

// Takes run after run and keeps figures only, so that one run is in memory at a time. Adding is
// linear in the spans of the run, with 8 bytes a span while it works.
class Comparer {
 public:
  Comparer();
  ~Comparer();
  Comparer(Comparer&&) noexcept;
  Comparer& operator=(Comparer&&) noexcept;

  void add_before(const Run& run, const Analysis& analysis);
  void add_after(const Run& run, const Analysis& analysis);
  Comparison finish(const CompareOptions& options = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Comparison compare(std::span<const RunAndAnalysis> before, std::span<const RunAndAnalysis> after,
                   const CompareOptions& options = {});
// One run each.
Comparison compare(const Run& before, const Analysis& before_analysis, const Run& after,
                   const Analysis& after_analysis, const CompareOptions& options = {});

// ---- 8. ranks: many ranks, or many runs, as one. They are folded in one at a time, so that memory
// does not grow with their spans: some hundred bytes are kept of each.
//
//   Aggregator all;
//   for (...) all.add(rank_figures(run, analyze(run)));  // a Run of one trace at a time
//   const Aggregate sum = all.finish();

// Something all ranks leave together: an all-reduce, a barrier, ... For the clocks of ranks.
struct Meeting {
  std::int64_t end_unix_ns = 0;
  std::uint8_t operation = 0;  // which; ranks meet where they have the same in the same order
};
inline constexpr std::size_t kMaxMeetings = 256;  // kept of a rank: its first ones

// What is kept of one rank, or of one run.
struct RankFigures {
  std::string label;   // "rank 3", or the source of what has no rank: made by Aggregator
  std::string source;  // file or folder that it was read from
  std::string run;     // id of the run it is part of
  std::string name;    // session
  std::string host;
  std::string boot_id;
  std::uint32_t pid = 0, ppid = 0;
  std::optional<int> rank, world_size;
  std::optional<int> exit_code;     // of the run's command
  std::uint64_t run_processes = 1;  // that its run has traces of: they share the exit code
  std::uint64_t failed_spans = 0;   // of kinds session, request, batch and step
  bool closed = true;               // false: it was killed, or still runs
  bool running = false;             // it still runs
  bool samples_only = false;        // no spans: beside others of its run the probes, not a rank
  std::string problem;              // why it could not be read; then nothing below counts
  std::vector<std::string> notes;   // what a reader must know of it
  std::int64_t wall_ns = 0;
  std::optional<std::int64_t> begin_unix_ns;
  std::vector<std::pair<std::string, double>> stage_seconds;  // "stage/vae_decode" -> total
  std::optional<double> step_p50_seconds;                     // of the steady steps if known
  std::optional<std::uint64_t> steps;
  std::uint64_t collectives = 0;                        // places where ranks meet
  std::optional<double> collective_seconds;             // waited there; absent: none were marked
  std::optional<double> input_seconds;                  // waited for input; absent: none was marked
  std::vector<std::pair<std::string, double>> figures;  // "gpu_memory_peak_bytes" -> value
  std::vector<Meeting> meetings;
};
// Of a Run of one trace; of more, who it is and its waits are the first one's. Linear in the spans.
RankFigures rank_figures(const Run& run, const Analysis& analysis);
// Of what could not be read.
RankFigures unread_figures(std::string source, std::optional<int> rank, std::string problem);

// One figure over the ranks that have it. There is no sum: shares do not add up, and what ranks of
// one machine say of its GPUs, or of frames that they make together, is said by each of them.
struct AcrossRanks {
  std::string name;
  std::uint64_t ranks = 0;  // that have it
  double min = 0, median = 0, max = 0, mean = 0;
  double skew = 0;    // max / median; 0 if that is 0
  bool exact = true;  // false: more than kExactRanks, the median is a histogram's, within 0.8 %
  std::string min_rank, max_rank;
};
inline constexpr std::size_t kExactRanks = 4096;

struct Straggler {
  // A rank that waits less than this times the median wait is a culprit, if it is also shorter by
  // more than kRealShare of the wall time.
  static constexpr double kCulpritRatio = 0.5;
  // Longer than this times the median: a slow rank, or one that waits for input.
  static constexpr double kSlowRatio = 1.25;
  static constexpr double kRealShare = 0.02;

  std::string rank;
  std::string role;  // "culprit": it waits least where ranks meet; "victim": it waits most;
                     // "slow": its steps are longest (no collectives were marked);
                     // "input": it waits for input more than 1.25 x the median rank
  double value = 0, median = 0;  // seconds
  std::string why;               // a sentence
};

// How far a rank's Unix clock is ahead of that of `Aggregate::clock_reference`.
struct ClockOffset {
  std::string rank;
  double offset_seconds = 0;
  std::optional<double> error_seconds;  // +- 95 %; absent: not known
  std::uint64_t meetings = 0;           // that it was told from
  std::string method;                   // "same boot", "collectives", "unix clocks" (taken as 0)
};

struct Aggregate {
  std::uint64_t ranks = 0, runs = 0;  // read; ranks or processes
  std::optional<int> world_size;      // the greatest that a rank says
  std::vector<int> missing;           // ranks below it of which nothing was found, the first 1,000
  std::uint64_t missing_count = 0;
  std::vector<std::string> failed;     // "rank 3: exit code 1"
  std::vector<std::string> unread;     // "rank_7/report.json: ..."
  std::vector<std::string> duplicate;  // two with the same rank at the same time
  std::vector<std::string> notes;      // what else a reader must know
  std::vector<AcrossRanks> stages;     // by median, longest first; at most 1,000
  std::vector<AcrossRanks> figures;    // wall, steps, memory, power, energy ...
  std::vector<Straggler> stragglers;   // at most 32 of a role
  // Ranks that ran at the same time as another one of their job: only these are compared.
  std::uint64_t compared = 0;
  std::string clock_reference;
  std::vector<ClockOffset> clocks;  // of the others, in the order of `rows`; as many
  std::vector<RankFigures> rows;    // one per rank without its stages, by rank; the first 4,096
};

class Aggregator {
 public:
  Aggregator();
  ~Aggregator();
  void add(RankFigures rank);
  Aggregate finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace genscope
