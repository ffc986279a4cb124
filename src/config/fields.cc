#include "config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/suggest.h"
#include "config/scalars.h"

namespace genscope::config {
namespace {

constexpr Range kInterval = {0.001, 3600};
constexpr Range kBudget = {1e-9, 1};
constexpr Range kPoints = {1, 10'000'000};
constexpr std::size_t kMaxItems = 64;        // of a list or of tags
constexpr std::size_t kMaxNameBytes = 64;    // longer than any name of ours
constexpr std::size_t kMaxTextBytes = 4096;  // a path, a tag

const Field kFields[] = {
    {"enabled", &Config::enabled},
    {"real_time_display", &Config::real_time_display},
    {"display_interval", &Config::display_interval, kInterval},
    {"gpu_monitor_interval", &Config::gpu_monitor_interval, kInterval},
    {"monitor_gpu_memory", &Config::monitor_gpu_memory},
    {"monitor_gpu_utilization", &Config::monitor_gpu_utilization},
    {"monitor_gpu_temperature", &Config::monitor_gpu_temperature},
    {"monitor_gpu_power", &Config::monitor_gpu_power},
    {"cpu_monitor_interval", &Config::cpu_monitor_interval, kInterval},
    {"monitor_cpu_usage", &Config::monitor_cpu_usage},
    {"monitor_system_memory", &Config::monitor_system_memory},
    {"generate_final_report", &Config::generate_final_report},
    {"report_format", &Config::report_format},
    {"save_raw_data", &Config::save_raw_data},
    {"output_dir", &Config::output_dir},
    {"max_data_points", &Config::max_data_points, kPoints},
    {"session_tags", &Config::session_tags},
    {"keep_args", &Config::keep_args},
    {"profile_inference_steps", &Config::profile_inference_steps},
    {"profile_vae_decode", &Config::profile_vae_decode},
    {"profile_text_encoding", &Config::profile_text_encoding},
    {"probes", &Config::probes},
    {"budget", &Config::budget, kBudget},
};

constexpr ReportFormat kFormats[] = {ReportFormat::text, ReportFormat::json, ReportFormat::csv,
                                     ReportFormat::html, ReportFormat::both};

// One setting being read: what its type makes of the value.
struct Reader {
  const Field& field;
  const YamlEntry& entry;
  std::string_view file;
  Config& config;

  Error wrong(int line, std::string_view expected) const {
    const YamlValue& value = entry.value;
    const bool scalar = value.kind == YamlValue::Kind::scalar;
    return error_at(file, line,
                    fmt::format("{}: expected {}, found {}", field.name, expected,
                                scalar ? fmt::format("'{}'", printable(value.text))
                                       : std::string(describe(value))));
  }

  Status operator()(bool Config::*member) const {
    const std::optional<bool> flag = flag_of(entry.value);
    if (!flag) return wrong(entry.line, "true or false");
    config.*member = *flag;
    return Done{};
  }

  Status operator()(double Config::*member) const {
    const std::optional<double> number = number_of<double>(entry.value);
    if (!number || !(*number >= field.range.low && *number <= field.range.high)) {  // NaN included
      return wrong(entry.line,
                   fmt::format("a number from {} to {}", field.range.low, field.range.high));
    }
    config.*member = *number;
    return Done{};
  }

  Status operator()(std::uint64_t Config::*member) const {
    const std::optional<std::uint64_t> number = number_of<std::uint64_t>(entry.value);
    const double value = number ? static_cast<double>(*number) : -1;
    if (value < field.range.low || value > field.range.high) {
      return wrong(entry.line, fmt::format("a whole number from {:.0f} to {:.0f}", field.range.low,
                                           field.range.high));
    }
    config.*member = *number;
    return Done{};
  }

  Status operator()(std::string Config::*member) const {
    const YamlValue& value = entry.value;
    if (value.kind != YamlValue::Kind::scalar || value.text.empty() ||
        value.text.size() > kMaxTextBytes) {
      return wrong(entry.line, fmt::format("a text of 1 to {} bytes", kMaxTextBytes));
    }
    config.*member = value.text;
    return Done{};
  }

  Status operator()(ReportFormat Config::*member) const {
    for (const ReportFormat format : kFormats) {
      if (entry.value.kind == YamlValue::Kind::scalar && entry.value.text == name(format)) {
        config.*member = format;
        return Done{};
      }
    }
    return wrong(entry.line, "text, json, csv, html or both");
  }

  Status operator()(std::vector<std::string> Config::*member) const {
    const YamlValue& value = entry.value;
    if (value.kind != YamlValue::Kind::list || value.items.size() > kMaxItems) {
      return wrong(entry.line, fmt::format("a list of at most {} names", kMaxItems));
    }
    std::vector<std::string> names;
    for (const YamlValue& item : value.items) {
      if (item.kind != YamlValue::Kind::scalar || item.text.empty() ||
          item.text.size() > kMaxTextBytes) {
        return error_at(file, item.line,
                        fmt::format("{}: expected a name, found {}", field.name, describe(item)));
      }
      if (std::find(names.begin(), names.end(), item.text) != names.end()) {
        return error_at(file, item.line,
                        fmt::format("{}: '{}' is given twice", field.name, printable(item.text)));
      }
      names.push_back(item.text);
    }
    config.*member = std::move(names);
    return Done{};
  }

  Status operator()(Tags Config::*member) const {
    const YamlValue& value = entry.value;
    if (value.kind != YamlValue::Kind::map || value.entries.size() > kMaxItems) {
      return wrong(entry.line, fmt::format("a map of at most {} names to texts", kMaxItems));
    }
    Tags tags;
    for (const YamlEntry& tag : value.entries) {
      const auto same = [&](const auto& other) { return other.first == tag.name; };
      if (std::any_of(tags.begin(), tags.end(), same)) {
        return error_at(file, tag.line,
                        fmt::format("{}: '{}' is given twice", field.name, printable(tag.name)));
      }
      if (tag.name.empty() || tag.value.kind != YamlValue::Kind::scalar ||
          tag.name.size() > kMaxTextBytes || tag.value.text.size() > kMaxTextBytes) {
        return error_at(file, tag.line,
                        fmt::format("{}.{}: expected a text, found {}", field.name,
                                    printable(tag.name), describe(tag.value)));
      }
      tags.emplace_back(tag.name, tag.value.text);
    }
    config.*member = std::move(tags);
    return Done{};
  }
};

Error unknown(const YamlEntry& entry, std::string_view file) {
  std::vector<std::string> known = {"preset", "profiling"};
  for (const Field& field : kFields) known.emplace_back(field.name);
  // The cost is a product of lengths, and the name may be anything.
  const std::string meant =
      entry.name.size() > kMaxNameBytes ? "" : base::nearest(entry.name, known);
  return error_at(file, entry.line,
                  fmt::format("unknown setting '{}'{}", printable(entry.name),
                              meant.empty() ? std::string("; docs/config.md lists them")
                                            : fmt::format("; did you mean '{}'?", meant)));
}

}  // namespace

std::span<const Field> all_fields() noexcept { return kFields; }

Status apply(const YamlEntry& entry, std::string_view file, Config& config) {
  for (const Field& field : kFields) {
    if (field.name == entry.name)
      return std::visit(Reader{field, entry, file, config}, field.member);
  }
  return unknown(entry, file);
}

}  // namespace genscope::config
