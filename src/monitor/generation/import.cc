// Reads what export.cc writes, and what older generation monitors wrote: their keys are ours.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include <genscope/monitor.h>

#include "base/file.h"

namespace genscope {
namespace {

using ParsedJson = nlohmann::json;

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20;

// One object with a memory of what was wrong with it.
class MetricsReader {
 public:
  MetricsReader(const ParsedJson& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  void read(const char* key, std::optional<double>& to) {
    if (const ParsedJson* v = given(key)) to = number(*v, key);
  }
  void read(const char* key, double& to) {
    if (const ParsedJson* v = given(key)) to = number(*v, key);
  }
  void read(const char* key, std::uint64_t& to) {
    if (const ParsedJson* v = given(key)) to = natural(*v, key);
  }
  void read(const char* key, std::optional<std::uint64_t>& to) {
    if (const ParsedJson* v = given(key)) to = natural(*v, key);
  }
  void read(const char* key, bool& to) {
    const ParsedJson* const v = given(key);
    if (v == nullptr) return;
    if (!v->is_boolean()) return complain(key, "true or false");
    to = v->get<bool>();
  }
  void read(const char* key, std::string& to) {
    const ParsedJson* const v = given(key);
    if (v == nullptr) return;
    if (!v->is_string()) return complain(key, "a text");
    to = v->get<std::string>();
  }
  void read(const char* key, std::pair<std::uint64_t, std::uint64_t>& to) {
    const ParsedJson* const v = given(key);
    if (v == nullptr) return;
    if (!v->is_array() || v->size() != 2) return complain(key, "two numbers");
    to = {natural((*v)[0], key), natural((*v)[1], key)};
  }
  bool has(const char* key) const { return given(key) != nullptr; }
  const std::string& error() const noexcept { return error_; }

  void complain(const char* key, const char* wanted) {
    if (error_.empty()) error_ = fmt::format("{}.{} should be {}", where_, key, wanted);
  }

 private:
  const ParsedJson* given(const char* key) const {
    const auto it = object_.find(key);
    return it != object_.end() && !it->is_null() ? &*it : nullptr;
  }
  double number(const ParsedJson& v, const char* key) {
    if (v.is_number() && std::isfinite(v.get<double>())) return v.get<double>();
    complain(key, "a number");
    return 0;
  }
  std::uint64_t natural(const ParsedJson& v, const char* key) {
    if (v.is_number_unsigned()) return v.get<std::uint64_t>();
    complain(key, "a whole number, 0 or more");
    return 0;
  }

  const ParsedJson& object_;
  std::string where_;
  std::string error_;
};

// Those know no status and store 0 and "" for what it did not measure.
void complete(const MetricsReader& reader, GenerationMetrics& m) {
  if (!reader.has("status")) {
    m.status = target_status(m.total_generation_time, m.target_generation_time);
    for (auto* value :
         {&m.model_load_time, &m.pipeline_setup_time, &m.generation_time_per_step,
          &m.gpu_memory_used_gb, &m.gpu_memory_total_gb, &m.gpu_memory_utilization_percent,
          &m.system_memory_used_gb, &m.system_memory_utilization_percent}) {
      if (*value && **value == 0) value->reset();
    }
  }
  m.target_met = m.target_met && m.status == TargetStatus::met;
}

Result<GenerationMetrics> metrics_of(const ParsedJson& json, const std::string& where) {
  if (!json.is_object()) {
    return Error{ErrorCode::bad_data, fmt::format("{} should be an object", where)};
  }
  GenerationMetrics m;
  MetricsReader r(json, where);
  r.read("model_load_time", m.model_load_time);
  r.read("generation_time_per_step", m.generation_time_per_step);
  r.read("total_generation_time", m.total_generation_time);
  r.read("pipeline_setup_time", m.pipeline_setup_time);
  r.read("gpu_memory_used_gb", m.gpu_memory_used_gb);
  r.read("gpu_memory_total_gb", m.gpu_memory_total_gb);
  r.read("gpu_memory_utilization_percent", m.gpu_memory_utilization_percent);
  r.read("system_memory_used_gb", m.system_memory_used_gb);
  r.read("system_memory_utilization_percent", m.system_memory_utilization_percent);
  r.read("num_inference_steps", m.num_inference_steps);
  r.read("image_resolution", m.image_resolution);
  r.read("batch_size", m.batch_size);
  r.read("target_met", m.target_met);
  r.read("target_generation_time", m.target_generation_time);
  r.read("performance_score", m.performance_score);
  r.read("architecture_type", m.architecture_type);
  r.read("model_name", m.model_name);
  r.read("torch_dtype", m.torch_dtype);
  r.read("device", m.device);
  r.read("timestamp", m.timestamp);
  r.read("gpu_name", m.gpu_name);
  r.read("driver_version", m.driver_version);
  r.read("id", m.id);
  r.read("failure", m.failure);
  r.read("faster_than_target", m.faster_than_target);
  r.read("model_architecture", m.model_architecture);
  r.read("steps_measured", m.steps_measured);
  r.read("first_step_time", m.first_step_time);
  r.read("step_time_p50", m.step_time_p50);
  r.read("step_time_p95", m.step_time_p95);
  r.read("step_time_max", m.step_time_max);
  r.read("time_before_steps", m.time_before_steps);
  r.read("time_after_steps", m.time_after_steps);
  r.read("warned_at_step", m.warned_at_step);
  r.read("rss_peak_bytes", m.rss_peak_bytes);
  r.read("gpu_absent", m.gpu_absent);
  r.read("request_id", m.request_id);
  std::string status;
  r.read("status", status);
  for (const TargetStatus known :
       {TargetStatus::met, TargetStatus::missed, TargetStatus::missed_2x, TargetStatus::failed}) {
    if (status == name(known)) m.status = known;
  }
  if (!status.empty() && status != name(m.status)) {
    r.complain("status", "met, missed, missed_2x or failed");
  }
  if (!r.error().empty()) return Error{ErrorCode::bad_data, r.error()};
  complete(r, m);
  return m;
}

Status read_into(const ParsedJson& json, GenerationExport& out) {
  if (!json.is_object() || !json.contains("current_metrics")) {
    return Error{ErrorCode::bad_data,
                 "there is no current_metrics: was it written by export_metrics_to_json?"};
  }
  if (const ParsedJson& current = json["current_metrics"]; !current.is_null()) {
    auto metrics = metrics_of(current, "current_metrics");
    if (!metrics) return std::move(metrics).error();
    out.current_metrics = *std::move(metrics);
  }
  if (const auto history = json.find("history"); history != json.end() && history->is_array()) {
    for (std::size_t i = 0; i < history->size(); ++i) {
      auto metrics = metrics_of((*history)[i], fmt::format("history[{}]", i));
      if (!metrics) return std::move(metrics).error();
      out.history.push_back(*std::move(metrics));
    }
  }
  if (const auto steps = json.find("step_times"); steps != json.end() && steps->is_array()) {
    for (const ParsedJson& step : *steps) {
      if (!step.is_number() || !std::isfinite(step.get<double>())) {
        return Error{ErrorCode::bad_data, "step_times should hold numbers only"};
      }
      out.step_times.push_back(step.get<double>());
    }
  }
  return Done{};
}

}  // namespace

Result<GenerationExport> parse_generation_metrics(std::string_view json,
                                                  std::string_view file_name) {
  const ParsedJson parsed = ParsedJson::parse(json, nullptr, false);
  if (parsed.is_discarded()) {
    return Error{ErrorCode::bad_data, fmt::format("{}: not JSON", file_name)};
  }
  GenerationExport out;
  if (const Status status = read_into(parsed, out); !status) {
    return Error{status.error().code, fmt::format("{}: {}", file_name, status.error().message)};
  }
  return out;
}

Result<GenerationExport> load_generation_metrics(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxFileBytes);
  if (!text) return text.error();
  return parse_generation_metrics(*text, path);
}

}  // namespace genscope
