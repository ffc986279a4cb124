#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include <genscope/monitor.h>

namespace genscope {

std::string to_json(const PipelineSettings& s) {
  nlohmann::ordered_json j = {{"architecture", s.architecture}, {"model", s.model}, {"gpu", s.gpu}};
  nlohmann::ordered_json& settings = j["settings"] = nlohmann::ordered_json::array();
  for (const PipelineSetting& row : s.settings) {
    settings.push_back(
        {{"key", row.key}, {"value", row.value}, {"reason", row.reason}, {"source", row.source}});
  }
  nlohmann::ordered_json& warnings = j["warnings"] = nlohmann::ordered_json::array();
  for (const VoidAdvice& row : s.warnings) {
    warnings.push_back({{"advice", row.advice}, {"why", row.why}, {"source", row.source}});
  }
  if (s.prediction) {
    j["step_seconds"] = s.prediction->step_seconds;
    j["total_seconds"] = s.prediction->total_seconds;
  }
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const PipelineSettings& s) {
  std::string out =
      fmt::format("{}{}{} on {}\n", s.model, s.model.empty() ? "" : ", ",
                  s.architecture.empty() ? "unknown architecture" : s.architecture, s.gpu);
  std::size_t width = 0;
  for (const PipelineSetting& row : s.settings) {
    width = std::max(width, row.key.size() + row.value.size() + 3);
  }
  for (const PipelineSetting& row : s.settings) {
    out += fmt::format("  {:<{}}  {} [{}]\n", fmt::format("{} = {}", row.key, row.value), width,
                       row.reason, row.source);
  }
  if (s.prediction) {
    out += fmt::format("  floor: {:.3g} s a step, {:.3g} s in all\n", s.prediction->step_seconds,
                       s.prediction->total_seconds);
  }
  for (const VoidAdvice& row : s.warnings) {
    out += fmt::format("  not: {}: {} [{}]\n", row.advice, row.why, row.source);
  }
  return out;
}

}  // namespace genscope
