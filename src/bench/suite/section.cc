#include "bench/suite/section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "bench/run/quantities.h"
#include "config/scalars.h"

namespace genscope::bench {

using config::YamlEntry;
using config::YamlValue;

namespace {

constexpr std::size_t kMaxSectionText = 16'000;

bool is_text(const YamlValue& value) {
  return value.kind == YamlValue::Kind::scalar && value.text.size() <= kMaxSectionText;
}

std::string found_text(const YamlValue& value) {
  if (value.kind != YamlValue::Kind::scalar) return std::string(config::describe(value));
  return fmt::format("'{}'", config::printable(value.text));
}

}  // namespace

Section::Section(const YamlValue& value, std::string path, Mistakes& mistakes)
    : value_(value), path_(std::move(path)), mistakes_(mistakes) {
  if (value.kind != YamlValue::Kind::map && value.kind != YamlValue::Kind::null) {
    wrong(value.line, "", fmt::format("expected `name: value`, found {}", found_text(value)));
  }
  std::map<std::string_view, int> seen;
  for (const YamlEntry& entry : value.entries) {
    const auto [place, is_new] = seen.emplace(entry.name, entry.line);
    if (is_new) continue;
    wrong(entry.line, config::printable(entry.name),
          fmt::format("given twice; first in line {}", place->second));
  }
}

Section::~Section() {
  for (const YamlEntry& entry : value_.entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.name) != asked_.end()) continue;
    mistakes_.add(entry.line,
                  fmt::format("{}{}unknown name '{}'{}", path_, path_.empty() ? "" : ": ",
                              config::printable(entry.name), remedy(entry.name, asked_)));
  }
}

void Section::wrong(int line, std::string_view name, std::string_view what) {
  const char* const dot = path_.empty() || name.empty() ? "" : ".";
  const char* const colon = path_.empty() && name.empty() ? "" : ": ";
  mistakes_.add(line, fmt::format("{}{}{}{}{}", path_, dot, name, colon, what));
}

bool Section::expected(const char* name, const YamlValue& value, std::string_view what) {
  wrong(value.line, name, fmt::format("expected {}, found {}", what, found_text(value)));
  return false;
}

const YamlValue* Section::find(std::string_view name) const noexcept {
  for (const YamlEntry& entry : value_.entries) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

bool Section::has(std::string_view name) const noexcept { return find(name) != nullptr; }

const YamlValue* Section::any(const char* name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) asked_.emplace_back(name);
  return find(name);
}

bool Section::text(const char* name, std::string& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  if (!is_text(*value)) return expected(name, *value, "a text");
  out = value->text;
  return true;
}

bool Section::word(const char* name, std::string& out, const std::vector<std::string>& words) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  if (!is_text(*value)) return expected(name, *value, fmt::format("{}", fmt::join(words, ", ")));
  if (std::find(words.begin(), words.end(), value->text) == words.end()) {
    wrong(value->line, name,
          fmt::format("'{}' is none of {}{}", config::printable(value->text),
                      fmt::join(words, ", "), [&] {
                        const std::string hint = remedy(value->text, words);
                        return hint.starts_with("; did") ? hint : std::string();
                      }()));
    return false;
  }
  out = value->text;
  return true;
}

bool Section::flag(const char* name, bool& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const std::optional<bool> set = config::flag_of(*value);
  if (!set) return expected(name, *value, "true or false");
  out = *set;
  return true;
}

bool Section::number(const char* name, std::optional<double>& out, double low, double high) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const std::optional<double> number = is_text(*value) ? number_in(value->text) : std::nullopt;
  if (!number) return expected(name, *value, "a number");
  if (*number < low || *number > high) {
    return expected(name, *value, fmt::format("a number from {} to {}", low, high));
  }
  out = number;
  return true;
}

bool Section::number(const char* name, double& out, double low, double high) {
  std::optional<double> value;
  if (!number(name, value, low, high)) return false;
  out = *value;
  return true;
}

bool Section::count(const char* name, std::size_t& out, std::size_t low, std::size_t high) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const auto number = config::number_of<std::size_t>(*value);
  if (!number || *number < low || *number > high) {
    return expected(name, *value, fmt::format("a whole number from {} to {}", low, high));
  }
  out = *number;
  return true;
}

bool Section::integer(const char* name, std::uint64_t& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const auto number = config::number_of<std::uint64_t>(*value);
  if (!number) return expected(name, *value, "a whole number, 0 or more");
  out = *number;
  return true;
}

bool Section::duration(const char* name, std::optional<double>& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const std::optional<double> seconds = is_text(*value) ? duration_in(value->text) : std::nullopt;
  if (!seconds || *seconds <= 0) {
    return expected(name, *value, "a time with its unit, such as 180s or 20m");
  }
  out = seconds;
  return true;
}

bool Section::share(const char* name, std::optional<double>& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const std::optional<double> share = is_text(*value) ? share_in(value->text) : std::nullopt;
  if (!share) return expected(name, *value, "a share such as 2% or 0.02");
  out = share;
  return true;
}

bool Section::share(const char* name, double& out) {
  std::optional<double> value;
  if (!share(name, value)) return false;
  out = *value;
  return true;
}

bool Section::quantity(const char* name, std::optional<double>& out, std::string_view metric) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  const auto number = is_text(*value) ? quantity_in(value->text, metric) : std::nullopt;
  if (!number || *number < 0) {
    return expected(
        name, *value,
        fmt::format("a number in the unit of {}, 0 or more", config::printable(metric)));
  }
  out = number;
  return true;
}

bool Section::texts(const char* name, std::vector<std::string>& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr) return false;
  if (is_text(*value)) {
    out = {value->text};
    return true;
  }
  if (value->kind != YamlValue::Kind::list) return expected(name, *value, "a list of texts");
  std::vector<std::string> all;
  for (const YamlValue& item : value->items) {
    if (!is_text(item)) return expected(name, item, "a text in this list");
    all.push_back(item.text);
  }
  out = std::move(all);
  return true;
}

bool Section::pairs(const char* name, std::vector<std::pair<std::string, std::string>>& out) {
  const YamlValue* const value = any(name);
  if (value == nullptr || value->kind == YamlValue::Kind::null) return false;
  if (value->kind != YamlValue::Kind::map) return expected(name, *value, "`name: text`");
  bool good = true;
  for (const YamlEntry& entry : value->entries) {
    if (!is_text(entry.value)) {
      wrong(entry.line, fmt::format("{}.{}", name, config::printable(entry.name)),
            fmt::format("expected a text, found {}", found_text(entry.value)));
      good = false;
      continue;
    }
    out.emplace_back(entry.name, entry.value.text);
  }
  return good;
}

}  // namespace genscope::bench
