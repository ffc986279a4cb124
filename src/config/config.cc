#include "genscope/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "config/fields.h"
#include "config/gpu_probes.h"
#include "config/yaml.h"

namespace genscope {
namespace {

using config::error_at;
using config::YamlEntry;
using config::YamlValue;

// The settings of the file, those under `profiling:` among them, each name once.
class Settings {
 public:
  explicit Settings(std::string_view file) : file_(file) {}

  Status collect(const YamlValue& root, bool inside_profiling = false) {
    return config::for_each_setting(root, file_, seen_, [&](const YamlEntry& entry) -> Status {
      if (entry.name == "profiling" && !inside_profiling) return collect(entry.value, true);
      entries_.push_back(&entry);
      return Done{};
    });
  }

  Result<Config> build() const {
    Config config;
    for (const YamlEntry* entry : entries_) {
      if (entry->name != "preset") continue;
      Result<Config> start = preset(entry->value.text);
      if (!start) return error_at(file_, entry->line, start.error().message);
      config = std::move(start).value();
    }
    for (const YamlEntry* entry : entries_) {
      if (entry->name == "preset") continue;
      if (const Status done = config::apply(*entry, file_, config); !done) return done.error();
    }
    return config;
  }

 private:
  std::string_view file_;
  config::NamesSeen seen_;
  std::vector<const YamlEntry*> entries_;
};

}  // namespace

std::string_view name(ReportFormat format) noexcept {
  switch (format) {
    case ReportFormat::text:
      return "text";
    case ReportFormat::json:
      return "json";
    case ReportFormat::csv:
      return "csv";
    case ReportFormat::html:
      return "html";
    case ReportFormat::both:
      return "both";
  }
  return "";
}

Result<Config> parse_config(std::string_view yaml, std::string_view file_name) {
  const std::string file = config::printable(file_name.empty() ? "settings" : file_name, 4096);
  const Result<YamlValue> root = config::parse_yaml(yaml, file);
  if (!root) return root.error();
  return config::config_of(*root, file);
}

Result<Config> config::config_of(const YamlValue& root, std::string_view file) {
  Settings settings(file);
  if (const Status done = settings.collect(root); !done) return done.error();
  return settings.build();
}

Result<Config> load_config(const std::string& path) {
  const Result<std::string> text = base::read_file(path, config::kMaxYamlBytes);
  if (!text) return text.error();
  return parse_config(*text, path);
}

std::vector<std::string> skipped_spans(const Config& config) {
  std::vector<std::string> words;
  if (!config.profile_inference_steps) words.emplace_back("step");
  if (!config.profile_vae_decode) {
    words.insert(words.end(), {"stage/vae_decode", "stage/vae_decoding"});
  }
  if (!config.profile_text_encoding) {
    words.insert(words.end(), {"stage/text_encoding", "stage/text_encode"});
  }
  return words;
}

std::vector<std::string> probes(const Config& config) {
  if (!config.enabled) return {};
  if (!config.probes.empty()) return config.probes;
  std::vector<std::string> names;
  if (config.monitor_cpu_usage) names.push_back("process");
  if (config.monitor_cpu_usage || config.monitor_system_memory) {
    names.push_back("system");
    names.push_back("cgroup");
  }
  if (config.monitor_cpu_usage) names.push_back("rapl");
  if (config.monitor_gpu_memory || config.monitor_gpu_utilization ||
      config.monitor_gpu_temperature || config.monitor_gpu_power) {
    names.insert(names.end(), config::kGpuProbes.begin(), config::kGpuProbes.end());
  }
  return names;
}

TierPeriods periods(double interval_seconds) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const bool usable = interval_seconds >= 0.001 && interval_seconds <= 3600;
  const std::int64_t fast =
      std::llround((usable ? interval_seconds : Config{}.gpu_monitor_interval) * 1e9);
  return {fast, std::max(fast, kSecond), std::max(fast, 5 * kSecond)};
}

}  // namespace genscope
