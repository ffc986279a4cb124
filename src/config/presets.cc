// Three modes as values. Production switches off what costs most, reads less often and keeps fewer
// points; debugging is the other way round.
#include <fmt/format.h>

#include "base/suggest.h"
#include "config/yaml.h"
#include "genscope/config.h"

namespace genscope {
namespace {

// High-frequency monitoring, everything on, detailed reports and raw data, a live view.
Config development() {
  Config config;
  config.report_format = ReportFormat::both;
  config.save_raw_data = true;
  return config;
}

// Low-frequency monitoring of the essentials, JSON for automation, the least overhead.
Config production() {
  Config config;
  config.real_time_display = false;
  config.gpu_monitor_interval = 1.0;
  config.monitor_gpu_temperature = false;
  config.monitor_gpu_power = false;
  config.cpu_monitor_interval = 2.0;
  config.report_format = ReportFormat::json;
  config.max_data_points = 5000;
  config.profile_text_encoding = false;
  config.budget = 0.0005;
  return config;
}

// The most detail, raw data, frequent updates.
Config debugging() {
  Config config;
  config.display_interval = 0.25;
  config.gpu_monitor_interval = 0.05;
  config.cpu_monitor_interval = 0.05;
  config.report_format = ReportFormat::both;
  config.save_raw_data = true;
  config.max_data_points = 100'000;
  config.budget = 0.01;
  return config;
}

}  // namespace

Result<Config> preset(std::string_view name) {
  if (name == "development") return development();
  if (name == "production") return production();
  if (name == "debugging") return debugging();
  constexpr std::size_t kMaxNameBytes = 64;
  const std::string meant = name.size() > kMaxNameBytes
                                ? ""
                                : base::nearest(name, {"development", "production", "debugging"});
  return Error{ErrorCode::invalid_argument,
               fmt::format("unknown preset '{}'; {}", config::printable(name),
                           meant.empty() ? "there are development, production and debugging"
                                         : fmt::format("did you mean '{}'?", meant))};
}

}  // namespace genscope
