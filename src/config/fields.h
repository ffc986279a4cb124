// The table of settings: each name with where it goes, its type and its range.
#pragma once

#include <span>
#include <string_view>
#include <variant>

#include "config/yaml.h"
#include "genscope/config.h"
#include "genscope/error.h"

namespace genscope::config {

struct Range {
  double low, high;
};

using Tags = std::vector<std::pair<std::string, std::string>>;
using Member =
    std::variant<bool Config::*, double Config::*, std::uint64_t Config::*, std::string Config::*,
                 ReportFormat Config::*, std::vector<std::string> Config::*, Tags Config::*>;

struct Field {
  std::string_view name;
  Member member;
  Range range = {0, 0};  // of numbers, inclusive
};

// In the order of docs/config.md.
std::span<const Field> all_fields() noexcept;

// Puts the value of one setting where it belongs. The error says file, line, name, what was wrong
// and what would be right.
Status apply(const YamlEntry& entry, std::string_view file, Config& config);

// The settings of a whole map, as parse_config() reads a file.
Result<Config> config_of(const YamlValue& root, std::string_view file);

}  // namespace genscope::config
