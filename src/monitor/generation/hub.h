// What the generations of one monitor share: its options, the history, the last result, the times
// of loads. Locked once when a generation starts and once when it ends, never by a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <genscope/monitor.h>

#include "monitor/generation/host_memory.h"
#include "monitor/generation/model_name.h"
#include "monitor/generation/ring.h"
#include "monitor/generation/state.h"
#include "monitor/generation/ticks.h"

namespace genscope::monitor {

class GenerationHub {
 public:
  explicit GenerationHub(GenerationMonitorOptions options);

  std::unique_ptr<GenerationState> start(const GenerationSettings& settings, bool scoped);
  // Ends it, keeps and returns its metrics, and calls on_miss.
  GenerationMetrics finish(std::unique_ptr<GenerationState> state, bool failed,
                           std::string_view reason);

  // The rare part of a step: says that the target went out of reach, or came back.
  void cross(GenerationState& state, std::int64_t now, double projected) noexcept;
  void read_memory(GenerationState& state, std::int64_t now, bool wait) noexcept;

  void keep_load(bool setup, double seconds);
  std::optional<GenerationMetrics> last() const;
  std::vector<GenerationMetrics> history() const;
  GenerationSummary summary() const;
  GenerationExport exported() const;
  void import(GenerationExport older);
  void reset_last();
  void clear_history();

  const GenerationMonitorOptions options;
  const Ticks ticks;
  const std::uint64_t number;  // of this monitor, unique in the process

 private:
  std::unique_ptr<GenerationState> take_state();
  ModelIdentity identified(const std::string& model_name);
  void tell_settings(const GenerationState& state) noexcept;
  void fill_times(const GenerationState& state, std::int64_t end, GenerationMetrics& metrics) const;
  void fill_memory(const GenerationState& state, GenerationMetrics& metrics);
  void fill_identity(const GenerationState& state, GenerationMetrics& metrics);
  void keep(std::unique_ptr<GenerationState> state, const GenerationMetrics& metrics,
            std::int64_t tail);

  HostMemory memory_;
  const ModelIdentity model_;  // of options.model_path
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::int64_t> tail_{0};  // ticks after the steps, of the last that went well
  std::atomic<bool> told_{false};      // the settings are in the trace

  mutable std::mutex mutex_;
  Ring<GenerationMetrics> history_;
  Ring<double> steps_;  // seconds
  std::optional<GenerationMetrics> last_;
  std::optional<double> load_seconds_, setup_seconds_;
  std::uint64_t lifetime_ = 0, lifetime_failed_ = 0;
  std::vector<std::unique_ptr<GenerationState>> spare_;
  std::vector<std::pair<std::string, ModelIdentity>> names_;  // looked up before
};

}  // namespace genscope::monitor
