// What was not measured is null, never 0.
#include "monitor/generation/export.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

namespace genscope {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// Names may hold any bytes.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json metrics_json(const GenerationMetrics& m) {
  Json j;
  j["model_load_time"] = or_null(m.model_load_time);
  j["generation_time_per_step"] = or_null(m.generation_time_per_step);
  j["total_generation_time"] = m.total_generation_time;
  j["pipeline_setup_time"] = or_null(m.pipeline_setup_time);
  j["gpu_memory_used_gb"] = or_null(m.gpu_memory_used_gb);
  j["gpu_memory_total_gb"] = or_null(m.gpu_memory_total_gb);
  j["gpu_memory_utilization_percent"] = or_null(m.gpu_memory_utilization_percent);
  j["system_memory_used_gb"] = or_null(m.system_memory_used_gb);
  j["system_memory_utilization_percent"] = or_null(m.system_memory_utilization_percent);
  j["num_inference_steps"] = m.num_inference_steps;
  j["image_resolution"] = {m.image_resolution.first, m.image_resolution.second};
  j["batch_size"] = m.batch_size;
  j["target_met"] = m.target_met;
  j["target_generation_time"] = m.target_generation_time;
  j["performance_score"] = m.performance_score;
  j["architecture_type"] = m.architecture_type;
  j["model_name"] = m.model_name;
  j["torch_dtype"] = or_null(m.torch_dtype);
  j["device"] = or_null(m.device);
  j["timestamp"] = m.timestamp;
  j["gpu_name"] = or_null(m.gpu_name);
  j["driver_version"] = or_null(m.driver_version);
  j["id"] = m.id;
  j["status"] = name(m.status);
  j["failure"] = or_null(m.failure);
  j["faster_than_target"] = m.faster_than_target;
  j["model_architecture"] = or_null(m.model_architecture);
  j["steps_measured"] = m.steps_measured;
  j["first_step_time"] = or_null(m.first_step_time);
  j["step_time_p50"] = or_null(m.step_time_p50);
  j["step_time_p95"] = or_null(m.step_time_p95);
  j["step_time_max"] = or_null(m.step_time_max);
  j["time_before_steps"] = or_null(m.time_before_steps);
  j["time_after_steps"] = or_null(m.time_after_steps);
  j["warned_at_step"] = or_null(m.warned_at_step);
  j["rss_peak_bytes"] = or_null(m.rss_peak_bytes);
  j["gpu_absent"] = or_null(m.gpu_absent);
  j["request_id"] = m.request_id != 0 ? Json(m.request_id) : Json(nullptr);
  return j;
}

Json resolution_json(const GenerationMetrics& m) {
  const auto& [width, height] = m.image_resolution;
  return width != 0 && height != 0 ? Json(fmt::format("{}x{}", width, height)) : Json(nullptr);
}

Json current_json(const GenerationMetrics& m) {
  return {{"total_time", m.total_generation_time},
          {"per_step_time", or_null(m.generation_time_per_step)},
          {"target_met", m.target_met},
          {"performance_score", m.performance_score},
          {"model_name", m.model_name},
          {"architecture", m.architecture_type},
          {"steps", m.num_inference_steps != 0 ? Json(m.num_inference_steps) : Json(nullptr)},
          {"resolution", resolution_json(m)},
          {"status", name(m.status)}};
}

Json memory_json(const GenerationMetrics& m) {
  return {{"gpu_memory_gb", or_null(m.gpu_memory_used_gb)},
          {"gpu_utilization_percent", or_null(m.gpu_memory_utilization_percent)},
          {"system_memory_gb", or_null(m.system_memory_used_gb)},
          {"system_utilization_percent", or_null(m.system_memory_utilization_percent)}};
}

Json trend_json(const std::optional<ScoreTrend>& trend) {
  if (!trend) return nullptr;
  return {{"per_generation", trend->per_generation}, {"low", trend->low}, {"high", trend->high}};
}

Json history_json(const GenerationSummary& s) {
  return {{"total_generations", s.total_generations},
          {"failed_generations", s.failed_generations},
          {"lifetime_generations", s.lifetime_generations},
          {"lifetime_failed", s.lifetime_failed},
          {"avg_generation_time", or_null(s.generation_time.mean)},
          {"min_generation_time", or_null(s.generation_time.min)},
          {"max_generation_time", or_null(s.generation_time.max)},
          {"p50_generation_time", or_null(s.generation_time.p50)},
          {"p95_generation_time", or_null(s.generation_time.p95)},
          {"avg_performance_score", or_null(s.avg_performance_score)},
          {"success_rate", or_null(s.success_rate)},
          {"score_trend", trend_json(s.score_trend)}};
}

Json summary_json(const GenerationSummary& s) {
  Json j = Json::object();
  if (const auto& m = s.current_generation) {
    j["current_generation"] = current_json(*m);
    j["memory_usage"] = memory_json(*m);
    j["hardware_info"] = {{"gpu_name", or_null(m->gpu_name)},
                          {"gpu_total_memory_gb", or_null(m->gpu_memory_total_gb)},
                          {"device", or_null(m->device)},
                          {"driver_version", or_null(m->driver_version)},
                          {"absent", or_null(m->gpu_absent)}};
  }
  j["target_configuration"] = {{"target_time", s.target.high_seconds},
                               {"target_low", s.target.low_seconds}};
  if (const auto& m = s.current_generation) {
    j["target_configuration"]["torch_dtype"] = or_null(m->torch_dtype);
  }
  if (s.total_generations > 0) j["historical_performance"] = history_json(s);
  if (s.step_time.count > 0) {
    j["step_performance"] = {
        {"total_steps", s.step_time.count},          {"avg_step_time", or_null(s.step_time.mean)},
        {"min_step_time", or_null(s.step_time.min)}, {"max_step_time", or_null(s.step_time.max)},
        {"p50_step_time", or_null(s.step_time.p50)}, {"p95_step_time", or_null(s.step_time.p95)}};
  }
  return j;
}

Json side_json(const GenerationMetrics& m) {
  return {{"total_time", m.total_generation_time},
          {"per_step_time", or_null(m.generation_time_per_step)},
          {"target_met", m.target_met},
          {"performance_score", m.performance_score},
          {"model", m.model_name}};
}

}  // namespace

std::string to_json(const GenerationMetrics& metrics) { return dump(metrics_json(metrics)); }
std::string to_json(const GenerationSummary& summary) { return dump(summary_json(summary)); }

std::string to_json(const GenerationComparison& c) {
  return dump({{"before", side_json(c.before)},
               {"after", side_json(c.after)},
               {"improvement",
                {{"total_time_percent", or_null(c.total_time_percent)},
                 {"per_step_time_percent", or_null(c.per_step_time_percent)},
                 {"performance_score_change", c.performance_score_change},
                 {"target_status_change", c.target_status_change}}},
               {"summary",
                {{"faster", or_null(c.faster)},
                 {"improvement_factor", or_null(c.improvement_factor)},
                 {"meets_target_now", c.meets_target_now},
                 {"significant_improvement", c.significant_improvement}}}});
}

namespace monitor {

std::string export_json(const GenerationExport& all, const GenerationSummary& summary) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  Json j;
  j["current_metrics"] = all.current_metrics ? metrics_json(*all.current_metrics) : Json(nullptr);
  j["performance_summary"] = summary_json(summary);
  j["export_timestamp"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
  Json& history = j["history"] = Json::array();
  for (const GenerationMetrics& metrics : all.history) history.push_back(metrics_json(metrics));
  j["step_times"] = all.step_times;
  return dump(j);
}

}  // namespace monitor
}  // namespace genscope
