// Monitors: generations and requests judged while they run, and what to run a model with.
//
//   GenerationMonitor       a generation against its target: score, early warning, history, advice
//   RequestMonitor          requests of a service: percentiles, rates, errors, SLO
//   recommend_settings()    what to run a model with on a GPU, and why
//
// Place in the flow: over record.h. Without a session nothing is recorded, and monitors work as
// well. docs/monitors.md is the page about them; monitors of operations and epochs with the names
// of older training scripts are in compat/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <genscope/error.h>
#include <genscope/predict.h>

namespace genscope {

class Facts;
struct Advice;
class GenerationMonitor;

// ---- 1. what is known of one generation, of the last ones, and of two compared
//
// The fields that other generation monitors have keep their names: there times are in seconds and
// memory is in 10^9 bytes. What was not measured is absent: `gpu_absent` says why the figures of
// the GPU are.

// The time that a generation should take. Faster than `low_seconds` is met as well.
struct GenerationTarget {
  double low_seconds = 2.0;
  double high_seconds = 5.0;
};

enum class TargetStatus : std::uint8_t {
  met,
  missed,
  missed_2x,  // by more than twice the target
  failed,     // the generation did not end well, however long it took
};
std::string_view name(TargetStatus status) noexcept;  // "met", "missed", ...

// min(100, 100 * target / total); 100 for a total of 0, 0 for a target that is not above 0.
double performance_score(double total_seconds, double target_seconds) noexcept;
TargetStatus target_status(double total_seconds, double target_seconds) noexcept;

struct GenerationMetrics {
  // --- as other generation monitors have them
  std::optional<double> model_load_time;           // of the last load before this generation
  std::optional<double> generation_time_per_step;  // mean of its steps, else total / steps asked
  double total_generation_time = 0;
  std::optional<double> pipeline_setup_time;
  std::optional<double> gpu_memory_used_gb;  // the most that was seen, all processes of the GPU
  std::optional<double> gpu_memory_total_gb;
  std::optional<double> gpu_memory_utilization_percent;  // of those two
  std::optional<double> system_memory_used_gb;           // of the machine, at its end
  std::optional<double> system_memory_utilization_percent;
  std::uint64_t num_inference_steps = 0;  // asked for; 0: not told
  std::pair<std::uint64_t, std::uint64_t> image_resolution = {0, 0};
  std::uint64_t batch_size = 1;
  bool target_met = false;
  double target_generation_time = 5.0;
  double performance_score = 0;
  std::string architecture_type, model_name;
  std::string torch_dtype, device;  // as the program gave them; empty: not told
  std::string timestamp;            // of its end, UTC, "2026-11-16T10:00:00Z"
  std::string gpu_name, driver_version;

  // --- ours
  std::uint64_t id = 0;  // counts up within the monitor, from 1
  TargetStatus status = TargetStatus::failed;
  std::string failure;               // why it failed; empty if it did not
  bool faster_than_target = false;   // met, and below the range
  std::string model_architecture;    // "qwen_image", where the model's files or name tell
  std::uint64_t steps_measured = 0;  // that began and ended
  std::optional<double> first_step_time, step_time_p50, step_time_p95, step_time_max;
  std::optional<double> time_before_steps, time_after_steps;  // encoding, decoding
  std::optional<std::uint64_t> warned_at_step;  // first step at which the target was out of reach
  std::optional<double> rss_peak_bytes;         // of this process: the most that was seen
  std::string gpu_absent;                       // why there are no figures of a GPU
  std::uint64_t request_id = 0;                 // of the request that asked for it; 0: none

  // What the program said of its settings (advise.h): set.attn_processor, ... Null: nothing.
  std::shared_ptr<const Facts> facts;
};

// A column of times, in seconds. Absent without samples.
struct TimeFigures {
  std::uint64_t count = 0;
  std::optional<double> mean, min, max, p50, p95;  // quantiles: linear
};
TimeFigures time_figures(const std::vector<double>& seconds);

// How the score goes from generation to generation: a robust slope with its 95 % interval.
struct ScoreTrend {
  double per_generation = 0, low = 0, high = 0;
  bool flat() const noexcept { return low <= 0 && high >= 0; }
};

// The last generations; failed ones are in no time.
struct GenerationSummary {
  GenerationTarget target;
  std::optional<GenerationMetrics> current_generation;  // the last that ended
  std::uint64_t total_generations = 0;                  // that the history holds
  std::uint64_t failed_generations = 0;                 // of those
  std::uint64_t lifetime_generations = 0, lifetime_failed = 0;
  TimeFigures generation_time;
  std::optional<double> avg_performance_score;  // a failed one scores 0
  std::optional<double> success_rate;           // percent that met the target; a failed one did not
  std::optional<ScoreTrend> score_trend;        // from five generations on
  TimeFigures step_time;                        // of the last steps, of all generations
};
// With their keys and ours.
std::string to_json(const GenerationSummary& summary);

// One generation against an earlier one. A percentage or factor that would divide by zero, or of a
// side that failed or was not measured, is absent.
struct GenerationComparison {
  GenerationMetrics before, after;
  std::optional<double> total_time_percent, per_step_time_percent;  // positive: faster
  double performance_score_change = 0;
  bool target_status_change = false;  // met now, and was not
  std::optional<bool> faster;
  std::optional<double> improvement_factor;  // before over after
  bool meets_target_now = false;
  bool significant_improvement = false;  // above kSignificantPercent
  static constexpr double kSignificantPercent = 50;
};
GenerationComparison compare_generations(const GenerationMetrics& before,
                                         const GenerationMetrics& after);
std::string to_json(const GenerationComparison& comparison);

// The lines that generation monitors print, without pictograms; names are made safe for a terminal.
std::string to_text(const GenerationMetrics& metrics);

// What export_metrics_to_json() writes.
struct GenerationExport {
  std::optional<GenerationMetrics> current_metrics;
  std::vector<GenerationMetrics> history;  // oldest first
  std::vector<double> step_times;          // seconds, oldest first
};
std::string to_json(const GenerationMetrics& metrics);
// Reads it back, and files of older generation monitors, which have no history.
Result<GenerationExport> parse_generation_metrics(std::string_view json,
                                                  std::string_view file_name);
Result<GenerationExport> load_generation_metrics(const std::string& path);  // at most 64 MiB

// ---- 2. GenerationMonitor: judges each generation against a target time while it runs and when it
// ends.
//
//   genscope::GenerationMonitor monitor({.generation = {.model_name = "Qwen-Image",
//                                                       .num_steps = 20}});
//   {
//     genscope::ScopedGeneration generation = monitor.monitor_generation();
//     for (int i = 0; i < 20; ++i) {
//       const auto step = generation.step();
//       denoise(i);
//     }
//   }  // ends here; as a failure if an exception leaves the scope
//   monitor.get_performance_summary();
//
// A generation is a span of kind request (of kind stage below a
// request), its steps are spans of kind step.
//
// Threads: a GenerationMonitor may be used from any thread. A Generation belongs to one thread at a
// time; any number of them run at once, and each has its own times. Steps take no lock and allocate
// nothing once as many steps as before have been seen.
//
// Failure: nothing here throws but what the caller's own functions throw.

namespace monitor {
struct GenerationState;
class GenerationHub;
}  // namespace monitor

// What is being generated. Empty or 0: as the monitor's, else not told.
struct GenerationSettings {
  std::string model_name = {};
  std::string architecture_type = {};  // "MMDiT", "UNet", ...; empty: detected where possible
  std::uint64_t num_steps = 0;         // without it there is no early warning
  std::uint64_t width = 0, height = 0;
  std::uint64_t batch_size = 0;
  std::string torch_dtype = {}, device = {};
  std::uint64_t under = 0;       // id of the span that asked for it (Handle::id() of record.h)
  std::uint64_t request_id = 0;  // of the request that did, RequestMonitor's number
  std::shared_ptr<const Facts> facts = nullptr;  // for the advice: set.attn_processor, ...
};

// Said when the projected total passes the target, and when it comes back.
struct EarlyWarning {
  std::uint64_t generation = 0;  // GenerationMetrics::id
  std::uint64_t step = 0;        // steps that are done
  std::uint64_t steps = 0;       // asked for
  bool out_of_reach = false;     // false: back in reach
  double elapsed_seconds = 0;
  double projected_seconds = 0;
  double target_seconds = 0;
};

struct GenerationProgress {
  std::uint64_t steps_done = 0;
  double elapsed_seconds = 0;
  // Elapsed, the steps that are left, and what came after the steps the last time; absent until
  // enough steps are done, or if the number of steps is not known.
  std::optional<double> projected_seconds;
  bool out_of_reach = false;
};

struct GenerationMonitorOptions {
  GenerationTarget target = {};
  GenerationSettings generation = {};  // of generations that do not say otherwise
  // A model file or folder: tells architecture and name where they are not given (inspect.h).
  std::string model_path = {};
  std::size_t history = 100;        // generations that are kept
  std::size_t step_history = 1000;  // steps that are kept
  // The first steps may be slow (compilation, caches), so the first is in no projection, and the
  // slowest of the last eight neither. Nothing is said before this many are done, unless the target
  // time itself has passed. 3 at least.
  std::uint64_t warn_from_step = 3;
  // Both are called on the thread of the generation, with no lock held. They must not throw.
  std::function<void(const EarlyWarning&)> on_early_warning = {};
  // After each generation that missed its target or failed. The advice is made only if this is set.
  std::function<void(const GenerationMetrics&, const Advice&)> on_miss = {};
  // Memory is read at the start, at the end, and at steps that are this far from the last reading.
  double memory_interval_seconds = 0.1;
  bool system_memory = true;
  // Loads the vendor's library in this process where there is one (probe.h: nvml, amdgpu, intel).
  bool gpu_memory = true;
  // Nanoseconds that never go back, for tests. Null: the fastest clock that can be trusted.
  std::int64_t (*clock)() noexcept = nullptr;
};

// A generation that runs. Ends with end() or fail(), on any thread; dropped without either it has
// failed. A moved-from or ended one ignores everything.
class Generation {
 public:
  Generation() noexcept;
  Generation(Generation&& other) noexcept;
  Generation& operator=(Generation&& other) noexcept;
  ~Generation();

  // Steps are numbered by themselves, from 0. One at a time: begin ends one that is open.
  void begin_step() noexcept;
  std::optional<double> end_step() noexcept;  // seconds; nothing if none was open
  class StepScope;
  StepScope step() noexcept;

  GenerationProgress progress() const noexcept;
  // What a framework's allocator says is in use, where that tells more than the driver.
  void note_gpu_memory(std::uint64_t used_bytes) noexcept;
  // Of its span, for Handle() of record.h: a parent for stages of the program's own. 0 while
  // nothing is recorded.
  std::uint64_t span_id() const noexcept;
  std::uint64_t id() const noexcept;  // 0 once it has ended
  bool running() const noexcept { return state_ != nullptr; }

  // Empty (id 0) for one that has ended, and without memory for them.
  GenerationMetrics end();
  GenerationMetrics fail(std::string_view reason);

  // The names of older generation monitors.
  void start_step_timing() noexcept { begin_step(); }
  std::optional<double> end_step_timing() noexcept { return end_step(); }

 protected:
  friend class GenerationMonitor;
  Generation(std::shared_ptr<monitor::GenerationHub> hub,
             std::unique_ptr<monitor::GenerationState> state) noexcept;
  GenerationMetrics finish(bool failed, std::string_view reason);
  GenerationMetrics finish_or_throw(bool failed, std::string_view reason);

  std::shared_ptr<monitor::GenerationHub> hub_;
  std::unique_ptr<monitor::GenerationState> state_;
};

class Generation::StepScope {
 public:
  explicit StepScope(Generation& of) noexcept : of_(of) { of_.begin_step(); }
  ~StepScope() { of_.end_step(); }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  Generation& of_;
};
inline Generation::StepScope Generation::step() noexcept { return StepScope(*this); }

// A generation that is a scope of its thread: it ends with it, as a failure if an exception leaves
// it. Its span is scoped, so that spans of the program inside it are its children, and its steps
// cost least.
class ScopedGeneration : public Generation {
 public:
  ~ScopedGeneration();
  ScopedGeneration(const ScopedGeneration&) = delete;
  ScopedGeneration& operator=(const ScopedGeneration&) = delete;

 private:
  friend class GenerationMonitor;
  explicit ScopedGeneration(Generation&& generation) noexcept;
  int exceptions_;
};

// Times a load or a set-up. Kept by the monitor when the scope ends, unless an exception ends it.
class LoadScope {
 public:
  ~LoadScope();
  LoadScope(const LoadScope&) = delete;
  LoadScope& operator=(const LoadScope&) = delete;
  double end() noexcept;  // seconds; later calls say the same

 private:
  friend class GenerationMonitor;
  LoadScope(std::shared_ptr<monitor::GenerationHub> hub, bool setup, std::string_view name);
  std::shared_ptr<monitor::GenerationHub> hub_;
  std::uint64_t span_;
  std::int64_t begin_;
  int exceptions_;
  bool setup_;
  bool open_ = true;
  double seconds_ = 0;
};

// A handle of shared state: copies are the same monitor.
class GenerationMonitor {
 public:
  explicit GenerationMonitor(GenerationMonitorOptions options = {});
  ~GenerationMonitor();
  GenerationMonitor(const GenerationMonitor&);
  GenerationMonitor& operator=(const GenerationMonitor&);

  ScopedGeneration monitor_generation(const GenerationSettings& settings = {});
  // Detached: may end on another thread, may overlap with others on this one.
  Generation start(const GenerationSettings& settings = {});

  // Time of a load, and of setting up a pipeline: in the metrics of every later generation.
  LoadScope track_model_load(std::string_view name = "model");
  LoadScope track_pipeline_setup(std::string_view name = "pipeline_setup");
  // Calls `load` and keeps its time. The result of `load`, if any, and the seconds.
  template <class F>
  auto measure_model_load_time(F&& load) {
    LoadScope scope = track_model_load();
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      std::forward<F>(load)();
      return scope.end();
    } else {
      auto result = std::forward<F>(load)();
      const double seconds = scope.end();
      return std::pair(std::move(result), seconds);
    }
  }

  // What the rules (advise.h) make of a generation: why it missed, what to do. Facts that were not
  // measured are missing, so that a machine without a GPU gets no advice about one.
  Advice diagnose(const GenerationMetrics& metrics) const;

  bool validate_performance_target(double seconds) const noexcept;
  // The last generation that ended, on whatever thread; nothing before the first.
  std::optional<GenerationMetrics> get_current_metrics() const;
  GenerationSummary get_performance_summary() const;
  std::vector<GenerationMetrics> get_history() const;  // oldest first
  // The last generation against an earlier one; not_found if there is no last one.
  Result<GenerationComparison> get_before_after_comparison(const GenerationMetrics& before) const;
  Status export_metrics_to_json(const std::string& path) const;
  // Puts the file's generations before those of the history, as far as there is room.
  Status import_metrics_from_json(const std::string& path);
  void reset_metrics();  // forgets the last generation, not the history nor the load time
  void clear_history();  // forgets generations and steps
  // Figures of the program's own, as counters of the run.
  void log_performance_metrics(const std::vector<std::pair<std::string, double>>& values);

  // The way of older monitors: a generation of the calling thread. end_timing() gives its seconds,
  // and nothing if this thread has started none; steps are of its innermost generation of any form.
  void start_timing();
  std::optional<double> end_timing();
  void start_step_timing() noexcept;
  std::optional<double> end_step_timing() noexcept;

  const GenerationTarget& target() const noexcept;

 private:
  Generation begin(const GenerationSettings& settings, bool scoped);
  std::shared_ptr<monitor::GenerationHub> hub_;
};

// Helpers of older generation monitors.
GenerationMonitor create_mmdit_performance_monitor(double target_time = 5.0);
ScopedGeneration monitor_generation_performance(
    std::string_view model_name = "", double target_time = 5.0,
    std::string_view architecture_type = "MMDiT", std::uint64_t num_steps = 20,
    std::pair<std::uint64_t, std::uint64_t> resolution = {1024, 1024});

// ---- 3. RequestMonitor: times the requests of a service, and keeps what its operators ask for:
// how many, how long, how long in the queue, which errors, how many at once, and the share within
// the SLO.
//
//   genscope::RequestMonitor monitor({.slo_seconds = 5});
//   genscope::ServedRequest request = monitor.enqueue("/generate");
//   request.started();                       // it left the queue
//   ...
//   request.first_byte();
//   request.finish(200);                     // or request.fail("timeout")
//
// A request is a detached span of kind request, its wait a stage
// "queue" below it. About once a second, whoever ends a request writes the figures as counters
// ("request/requests_finished", docs/metrics.md), which `genscope serve` shows under /metrics;
// prometheus_text() is for a server of one's own.
//
// Threads: a RequestMonitor may be used from any thread, a ServedRequest by one at a time. Ending a
// request takes one short lock. Memory is bounded by the options.
//
// Failure: nothing here fails or throws.

namespace monitor {
struct RequestState;
class RequestHub;
}  // namespace monitor

struct RequestMonitorOptions {
  std::string name = "request";    // of its counters and Prometheus labels; one for each service
  double slo_seconds = 5.0;        // a request that takes longer is outside its SLO
  std::size_t window = 1000;       // last requests that percentiles and shares are of
  std::size_t error_classes = 32;  // further ones are counted together as "other"
  double publish_seconds = 1.0;    // between two writes of the counters; 0: never
  // Nanoseconds that never go back, for tests. Null: the fastest clock that can be trusted.
  std::int64_t (*clock)() noexcept = nullptr;
};

// A request that ended. Times in seconds, from its begin.
struct RequestRecord {
  std::uint64_t id = 0;  // counts up within the monitor, from 1
  std::string route;
  double total_seconds = 0;
  std::optional<double> queue_seconds;       // absent: it never waited in a queue
  std::optional<double> first_byte_seconds;  // absent: it sent none, or did not say
  std::optional<int> http_status;
  std::string error_class;          // "5xx", "timeout"; empty: it went well
  bool client_error = false;        // 4xx: an error, but in no share of the SLO
  std::uint64_t generation_id = 0;  // of the generation that it waited for; 0: none
  std::optional<double> generation_seconds, generation_score;
};

// Of the last requests. Quantiles: linear.
struct LatencyFigures {
  std::uint64_t count = 0;
  std::optional<double> mean, min, max, p50, p90, p95, p99;
};

struct RequestStats {
  std::uint64_t begun = 0, finished = 0, failed = 0;  // since the monitor was made
  std::uint64_t in_flight = 0, in_flight_peak = 0, waiting = 0;
  std::uint64_t window = 0;                // requests that the next figures are of
  LatencyFigures total;                    // of those that went well
  LatencyFigures queue_wait, first_byte;   // of those that had one
  LatencyFigures generation;               // of those that joined one
  std::optional<double> generation_share;  // of the time of those: in the generation
  std::vector<std::pair<std::string, std::uint64_t>>
      errors;  // by class, since the monitor was made
  // Ended per second. Of a monitor that is younger than the time, over its age; from 1 s on.
  std::optional<double> per_second_1m, per_second_5m, per_second_15m;
  double slo_seconds = 0;
  // Ended well and in time; client errors are in neither count.
  std::optional<double> slo_share, slo_share_lifetime;
};
std::string to_json(const RequestStats& stats);

// A request being served. Dropped without an end it counts as an error, "abandoned", or "exception"
// if one is on its way. A moved-from or ended one ignores everything.
class ServedRequest {
 public:
  ServedRequest() noexcept;
  ServedRequest(ServedRequest&& other) noexcept;
  ServedRequest& operator=(ServedRequest&& other) noexcept;
  ~ServedRequest();

  void started() noexcept;  // it left the queue
  // It had waited this long before it came here, as a proxy's header says. Its time here is apart.
  void waited(double seconds) noexcept;
  void first_byte() noexcept;  // of its answer; later calls do nothing
  // Settings of a generation for this request: its span goes below the request's.
  GenerationSettings generation(GenerationSettings settings = {}) const;
  void join(const GenerationMetrics& metrics) noexcept;  // the generation has ended

  // By HTTP status: from 400 on an error of class "4xx" or "5xx".
  RequestRecord finish(int http_status = 200);
  RequestRecord fail(std::string_view error_class);

  std::uint64_t id() const noexcept;        // 0 once it has ended
  std::uint64_t span_id() const noexcept;   // for Handle() of record.h; 0 while nothing is recorded
  double elapsed_seconds() const noexcept;  // 0 once it has ended
  bool running() const noexcept { return state_ != nullptr; }

 private:
  friend class RequestMonitor;
  ServedRequest(std::shared_ptr<monitor::RequestHub> hub,
                std::unique_ptr<monitor::RequestState> state) noexcept;
  RequestRecord end(std::optional<int> http_status, std::string error_class);

  std::shared_ptr<monitor::RequestHub> hub_;
  std::unique_ptr<monitor::RequestState> state_;
  int exceptions_ = 0;
};

// A handle of shared state: copies are the same monitor.
class RequestMonitor {
 public:
  explicit RequestMonitor(RequestMonitorOptions options = {});
  ~RequestMonitor();
  RequestMonitor(const RequestMonitor&);
  RequestMonitor& operator=(const RequestMonitor&);

  // A request that is served at once, and one that waits for its turn first. `route` is a pattern,
  // not a path with ids in it: it becomes the name of the span.
  ServedRequest begin(std::string_view route);
  ServedRequest enqueue(std::string_view route);

  RequestStats stats() const;
  std::vector<RequestRecord> recent() const;  // the window, oldest first
  // Text format 0.0.4, with the names of docs/metrics.md.
  std::string prometheus_text() const;
  // What a middleware adds to an answer, in seconds: X-Request-Time, of this request
  // so far, and X-Avg-Request-Time, of the window where there is any.
  std::vector<std::pair<std::string, std::string>> response_headers(
      const ServedRequest& request) const;

 private:
  ServedRequest open(std::string_view route, bool waits);
  std::shared_ptr<monitor::RequestHub> hub_;
};

// ---- 4. Pipeline settings: what to run a model with on a GPU, each with its reason and where that
// comes from: the cost model (predict.h), the rules (advise.h), or the pipelines' own defaults. And
// which advice that one still reads is void today.
//
//   const auto settings = genscope::recommend_settings("MMDiT", "RTX 4090", "qwen-image");
//   settings->value("offload");   // "group"
//
// Pure functions but for reading the model's header, if a path is given; any thread.

struct PipelineSetting {
  std::string key;     // as the pipeline's argument or method is called: "true_cfg_scale"
  std::string value;   // "4.0", "bfloat16", "none"
  std::string reason;  // one sentence
  std::string source;  // "rule ATT-PROC", "cost model: ..."
};

// Advice that used to be right, or never was.
struct VoidAdvice {
  std::string advice;  // "enable_attention_slicing()"
  std::string why;
  std::string source;
};

struct PipelineSettings {
  std::string architecture;  // "MMDiT", "UNet", "DiT", ...; "" if not known
  std::string model;         // its title; "" if none was given
  std::string gpu;           // its name; "cpu" without one
  // guidance_scale or true_cfg_scale, num_inference_steps, torch_dtype, attention, offload,
  // vae_tiling, compile, width, height; what cannot be told without a model is not among them.
  std::vector<PipelineSetting> settings;
  std::vector<VoidAdvice> warnings;
  // With these settings; absent without model or GPU. Its peak does not know of VAE tiles.
  std::optional<Prediction> prediction;

  const PipelineSetting* find(std::string_view key) const noexcept;
  std::string_view value(std::string_view key) const noexcept;  // "" if there is none such
};
std::string to_json(const PipelineSettings& settings);
std::string to_text(const PipelineSettings& settings);

// `architecture`: "MMDiT", "UNet", "DiT"; "" if the model tells. `gpu`: a name (find_hardware()),
// "" or "cpu" for none. `model`: a known name (known_models()), a path, or "". A model that is of
// another architecture than said wins, with a warning. Fails on a name that is not known.
Result<PipelineSettings> recommend_settings(std::string_view architecture, std::string_view gpu,
                                            std::string_view model);
// The same for a device with other figures than the table's: less memory, say. Null: none.
Result<PipelineSettings> recommend_settings(std::string_view architecture, const Hardware* gpu,
                                            std::string_view model);

// The call of older pipeline optimizers: what the architecture alone tells.
PipelineSettings configure_generation_settings(std::string_view architecture);

}  // namespace genscope
