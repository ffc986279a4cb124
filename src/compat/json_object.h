// JsonWriter: one flat JSON object, key by key. What was not measured is null, never 0.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"

namespace genscope::compat::training {

class JsonWriter {
 public:
  JsonWriter& text(std::string_view key, std::string_view value) {
    return raw(key, base::json_quote(value));
  }
  JsonWriter& number(std::string_view key, double value) {
    return raw(key, std::isfinite(value) ? fmt::format("{}", value) : "null");
  }
  JsonWriter& number(std::string_view key, std::optional<double> value) {
    return value ? number(key, *value) : raw(key, "null");
  }
  JsonWriter& count(std::string_view key, std::uint64_t value) {
    return raw(key, fmt::format("{}", value));
  }
  JsonWriter& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  // `value` is JSON already.
  JsonWriter& raw(std::string_view key, std::string_view value) {
    if (!out_.empty()) out_ += ',';
    out_ += base::json_quote(key);
    out_ += ':';
    out_ += value;
    return *this;
  }
  std::string done() const { return "{" + out_ + "}"; }

 private:
  std::string out_;
};

}  // namespace genscope::compat::training
