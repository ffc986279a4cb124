// Scalars of a settings file: what a word without quotes means.
#pragma once

#include <charconv>
#include <optional>
#include <system_error>

#include "config/yaml.h"

namespace genscope::config {

// true, yes, on, false, no, off in any case; nothing else.
std::optional<bool> flag_of(const YamlValue& value);

// The whole word as a number.
template <class Number>
std::optional<Number> number_of(const YamlValue& value) {
  if (value.kind != YamlValue::Kind::scalar || value.quoted) return std::nullopt;
  Number number{};
  const char* end = value.text.data() + value.text.size();
  const auto [stop, failed] = std::from_chars(value.text.data(), end, number);
  if (failed != std::errc{} || stop != end) return std::nullopt;
  return number;
}

}  // namespace genscope::config
