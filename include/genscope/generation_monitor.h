// Generation monitor: judges each generation against a target time while it runs and when it ends.
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
// Place in the flow: over record.h. A generation is a span of kind request (of kind stage below a
// request), its steps are spans of kind step; without a session nothing is recorded, and the
// monitor works as well.
//
// Threads: a GenerationMonitor may be used from any thread. A Generation belongs to one thread at a
// time; any number of them run at once, and each has its own times. Steps take no lock and allocate
// nothing once as many steps as before have been seen.
//
// Failure: nothing here throws but what the caller's own functions throw.
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

#include <genscope/generation_metrics.h>

namespace genscope {

struct Advice;
class GenerationMonitor;

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

}  // namespace genscope
