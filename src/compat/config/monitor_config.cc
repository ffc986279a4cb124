#include <genscope/compat/monitor_config.h>

#include <fmt/format.h>

#include <map>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/suggest.h"
#include "config/fields.h"
#include "config/scalars.h"
#include "config/yaml.h"

namespace genscope {
namespace {

using config::error_at;
using config::YamlEntry;
using config::YamlValue;

using Member = std::variant<bool MonitorConfig::*, std::uint64_t MonitorConfig::*,
                            std::optional<std::uint64_t> MonitorConfig::*>;
struct Field {
  std::string_view name;
  Member member;
  std::uint64_t low = 0, high = 0;  // of numbers, inclusive
};

// In the order of docs/training.md.
const Field kFields[] = {
    {"enable_memory_monitoring", &MonitorConfig::enable_memory_monitoring},
    {"memory_monitor_batches", &MonitorConfig::memory_monitor_batches, 0, 1'000'000},
    {"batch_size", &MonitorConfig::batch_size, 1, 1'000'000'000},
    {"num_workers", &MonitorConfig::num_workers, 0, 100'000},
    {"epochs", &MonitorConfig::epochs, 1, 1'000'000'000},
    {"device", &MonitorConfig::device, 0, 1023},
    {"warmup_batches", &MonitorConfig::warmup_batches, 0, 1'000'000},
    {"max_records", &MonitorConfig::max_records, 0, 100'000'000},
};

constexpr std::size_t kLongestName = 64;

Error unknown(const YamlEntry& entry, std::string_view file) {
  std::vector<std::string> known = {"trainer_params", "profiling"};
  for (const Field& field : kFields) known.emplace_back(field.name);
  const std::string meant =
      entry.name.size() > kLongestName ? "" : base::nearest(entry.name, known);
  return error_at(file, entry.line,
                  fmt::format("unknown setting '{}'{}", config::printable(entry.name),
                              meant.empty() ? std::string("; docs/training.md lists them")
                                            : fmt::format("; did you mean '{}'?", meant)));
}

// One file being read.
class SettingsReader {
 public:
  explicit SettingsReader(std::string_view file) : file_(file) {}

  Status read(const YamlValue& root, bool inside = false) {
    return config::for_each_setting(
        root, file_, seen_, [&](const YamlEntry& entry) { return read_entry(entry, inside); });
  }

  MonitorConfig config;

 private:
  Status read_entry(const YamlEntry& entry, bool inside) {
    if (!inside && entry.name == "trainer_params") return read(entry.value, true);
    if (!inside && entry.name == "profiling") return read_profiling(entry);
    for (const Field& field : kFields) {
      if (field.name == entry.name) {
        return std::visit([&](auto member) { return put(field, entry, member); }, field.member);
      }
    }
    return unknown(entry, file_);
  }

  Status read_profiling(const YamlEntry& entry) {
    Result<Config> profiling = config::config_of(entry.value, file_);
    if (!profiling) return profiling.error();
    config.profiling = std::move(profiling).value();
    return Done{};
  }

  Error wrong(const Field& field, const YamlEntry& entry, std::string_view expected) const {
    const bool scalar = entry.value.kind == YamlValue::Kind::scalar;
    return error_at(file_, entry.line,
                    fmt::format("{}: expected {}, found {}", field.name, expected,
                                scalar ? fmt::format("'{}'", config::printable(entry.value.text))
                                       : std::string(config::describe(entry.value))));
  }

  Status put(const Field& field, const YamlEntry& entry, bool MonitorConfig::*member) {
    const std::optional<bool> flag = config::flag_of(entry.value);
    if (!flag) return wrong(field, entry, "true or false");
    config.*member = *flag;
    return Done{};
  }

  template <class Number>
  Status put(const Field& field, const YamlEntry& entry, Number MonitorConfig::*member) {
    const auto number = config::number_of<std::uint64_t>(entry.value);
    if (!number || *number < field.low || *number > field.high) {
      return wrong(field, entry,
                   fmt::format("a whole number from {} to {}", field.low, field.high));
    }
    config.*member = *number;
    return Done{};
  }

  std::string_view file_;
  config::NamesSeen seen_;
};

}  // namespace

Result<MonitorConfig> parse_monitor_config(std::string_view yaml, std::string_view file_name) {
  const std::string file = config::printable(file_name.empty() ? "settings" : file_name, 4096);
  const Result<YamlValue> root = config::parse_yaml(yaml, file);
  if (!root) return root.error();
  SettingsReader reader(file);
  if (const Status done = reader.read(*root); !done) return done.error();
  return std::move(reader.config);
}

Result<MonitorConfig> load_monitor_config(const std::string& path) {
  const Result<std::string> text = base::read_file(path, config::kMaxYamlBytes);
  if (!text) return text.error();
  return parse_monitor_config(*text, path);
}

PerformanceMonitorOptions performance_monitor_options(const MonitorConfig& config) {
  PerformanceMonitorOptions options;
  options.enabled = config.enable_memory_monitoring;
  options.device = static_cast<int>(config.device);
  options.max_records = config.max_records;
  return options;
}

EpochMonitorOptions epoch_monitor_options(const MonitorConfig& config) {
  EpochMonitorOptions options;
  options.enabled = config.enable_memory_monitoring;
  options.verbose_batches = config.memory_monitor_batches;
  options.device = static_cast<int>(config.device);
  options.warmup_batches = config.warmup_batches;
  options.samples_per_batch = config.batch_size.value_or(0);
  return options;
}

}  // namespace genscope
