// From a state to metrics: what GenerationHub::finish() writes down.
#include <fmt/chrono.h>

#include <ctime>

#include "analyze/statistics/statistics.h"
#include "monitor/generation/hub.h"

namespace genscope::monitor {
namespace {

constexpr double kGigabyte = 1e9;  // a GB of generation monitors

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

}  // namespace

void GenerationHub::fill_times(const GenerationState& s, std::int64_t end,
                               GenerationMetrics& metrics) const {
  metrics.timestamp = utc_now();
  metrics.target_generation_time = options.target.high_seconds;
  metrics.total_generation_time = ticks.seconds(end - s.begin);
  metrics.num_inference_steps = s.num_steps;
  metrics.steps_measured = s.steps_done;
  metrics.warned_at_step = s.warned_at_step;
  {
    const std::lock_guard lock(mutex_);
    metrics.model_load_time = load_seconds_;
    metrics.pipeline_setup_time = setup_seconds_;
  }
  if (s.steps_done == 0) {
    if (s.num_steps > 0) {
      metrics.generation_time_per_step =
          metrics.total_generation_time / static_cast<double>(s.num_steps);
    }
    return;
  }
  metrics.generation_time_per_step = ticks.seconds(s.step_sum) / static_cast<double>(s.steps_done);
  metrics.first_step_time = ticks.seconds(s.first_step);
  metrics.step_time_max = ticks.seconds(s.step_max);
  metrics.time_before_steps = ticks.seconds(s.first_step_begin - s.begin);
  metrics.time_after_steps = ticks.seconds(end - s.last_step_end);
  std::vector<double> seconds;
  seconds.reserve(s.steps.size());
  for (const std::int64_t step : s.steps) seconds.push_back(ticks.seconds(step));
  metrics.step_time_p50 = stats::quantile(seconds, 0.5);
  metrics.step_time_p95 = stats::quantile(seconds, 0.95);
}

void GenerationHub::fill_memory(const GenerationState& s, GenerationMetrics& metrics) {
  metrics.rss_peak_bytes = s.memory.rss;
  if (s.memory.gpu_used) metrics.gpu_memory_used_gb = *s.memory.gpu_used / kGigabyte;
  if (s.memory.gpu_total) metrics.gpu_memory_total_gb = *s.memory.gpu_total / kGigabyte;
  if (s.memory.gpu_used && s.memory.gpu_total && *s.memory.gpu_total > 0) {
    metrics.gpu_memory_utilization_percent = 100 * *s.memory.gpu_used / *s.memory.gpu_total;
  }
  GpuIdentity gpu = memory_.gpu(s.settings.device);
  metrics.gpu_name = std::move(gpu.name);
  metrics.driver_version = std::move(gpu.driver);
  metrics.gpu_absent = std::move(gpu.absent);
  if (!options.system_memory) return;
  if (const auto system = memory_.system()) {
    metrics.system_memory_used_gb = system->used_bytes / kGigabyte;
    metrics.system_memory_utilization_percent = 100 * system->used_bytes / system->total_bytes;
  }
}

void GenerationHub::fill_identity(const GenerationState& s, GenerationMetrics& metrics) {
  const GenerationSettings& given = s.settings;
  // The files are those of the monitor's own model.
  const bool own = given.model_name.empty() || given.model_name == options.generation.model_name;
  const ModelIdentity model =
      own && !model_.architecture.empty() ? model_ : identified(given.model_name);
  metrics.model_name = given.model_name.empty() ? model.title : given.model_name;
  metrics.model_architecture = model.architecture;
  metrics.architecture_type =
      given.architecture_type.empty() ? family_title(model.family) : given.architecture_type;
  metrics.image_resolution = {given.width, given.height};
  metrics.batch_size = given.batch_size;
  metrics.torch_dtype = given.torch_dtype;
  metrics.device = given.device;
  metrics.facts = given.facts;
}

}  // namespace genscope::monitor
