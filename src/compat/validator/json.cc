#include "compat/validator/json.h"

#include <fmt/format.h>

namespace genscope::compat {

Json json_of(const std::optional<stats::Interval>& interval) {
  if (!interval) return {};
  return {{"low", interval->low}, {"high", interval->high}, {"confidence", interval->confidence}};
}

Json json_of(const BenchmarkResult& r) {
  Json resolution;
  if (r.resolution) resolution = {r.resolution->width, r.resolution->height};
  return {{"test_name", r.test_name},
          {"model_name", r.model_name},
          {"architecture_type", r.architecture_type},
          {"test_timestamp", r.test_timestamp},
          {"total_time", or_null(r.total_time)},
          {"total_time_interval", json_of(r.total_time_interval)},
          {"per_step_time", or_null(r.per_step_time)},
          {"target_time", r.target_time},
          {"target_met", r.target_met},
          {"performance_score", r.performance_score},
          {"improvement_factor", or_null(r.improvement_factor)},
          {"gpu_utilization_percent", or_null(r.gpu_utilization_percent)},
          {"gpu_memory_used_gb", or_null(r.gpu_memory_used_gb)},
          {"gpu_memory_peak_gb", or_null(r.gpu_memory_peak_gb)},
          {"gpu_memory_efficiency", or_null(r.gpu_memory_efficiency)},
          {"gpu_absent", r.gpu_absent},
          {"num_steps", or_null(r.num_steps)},
          {"resolution", std::move(resolution)},
          {"batch_size", or_null(r.batch_size)},
          {"multimodal_enabled", r.multimodal_enabled},
          {"text_processing_time", or_null(r.text_processing_time)},
          {"image_analysis_time", or_null(r.image_analysis_time)},
          {"success_rate", or_null(r.success_rate)},
          {"success_rate_interval", json_of(r.success_rate_interval)},
          {"error_count", r.error_count},
          {"warnings", r.warnings},
          {"notes", r.notes},
          {"gpu_name", r.gpu_name},
          {"driver_version", r.driver_version},
          {"cuda_version", r.cuda_version},
          {"times", r.times},
          {"generations_per_second", or_null(r.generations_per_second)},
          {"verdict", r.verdict}};
}

std::string to_json(const BenchmarkResult& result) { return text_of(json_of(result)); }

std::string to_json(const SpeedValidation& v) {
  Json percent, speedup;
  if (v.improvement_factor) {
    percent = (*v.improvement_factor - 1) * 100;
    speedup = fmt::format("{:.1f}x faster", *v.improvement_factor);
  }
  return text_of({{"before_metrics", json_of(v.before)},
                  {"after_metrics", json_of(v.after)},
                  {"improvement_factor", or_null(v.improvement_factor)},
                  {"improvement_interval", json_of(v.improvement_interval)},
                  {"target_improvement_factor", v.target_improvement_factor},
                  {"target_met", v.target_met},
                  {"improvement_percent", std::move(percent)},
                  {"time_saved_seconds", or_null(v.time_saved_seconds)},
                  {"validation_status", v.validation_status},
                  {"reason", v.reason},
                  {"verdict", name(v.judgement.verdict)},
                  {"runs", {{"before", v.judgement.before_n}, {"after", v.judgement.after_n}}},
                  {"summary",
                   {{"before_time", or_null(v.before.total_time)},
                    {"after_time", or_null(v.after.total_time)},
                    {"speedup", std::move(speedup)},
                    {"target_achieved", v.target_met}}}});
}

}  // namespace genscope::compat
