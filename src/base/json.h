// A JSON object, read leniently: a key that is missing or of another type gives the fallback.
// For our own small documents; one place that pays for the parser's header.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace genscope::base {

class JsonObject {
 public:
  // An empty object if `text` is not one; valid() tells.
  explicit JsonObject(std::string_view text);
  ~JsonObject();
  JsonObject(JsonObject&&) noexcept;
  JsonObject& operator=(JsonObject&&) noexcept;

  bool valid() const noexcept { return valid_; }
  bool has(const char* key) const;
  std::string text(const char* key) const;
  std::vector<std::string> texts(const char* key) const;  // the strings of an array
  std::int64_t integer(const char* key, std::int64_t fallback = 0) const;
  std::uint64_t natural(const char* key, std::uint64_t fallback = 0) const;
  double number(const char* key, double fallback = 0) const;
  bool flag(const char* key) const;

 private:
  struct Value;
  std::unique_ptr<Value> value_;
  bool valid_ = false;
};

// The object `text` with an array of strings under `key`, or without it if there are none; as
// below.
std::optional<std::string> with_texts(std::string_view text, const char* key,
                                      const std::vector<std::string>& values);

// The object `text` with these keys set, the others as they are. Nothing if `text` is not an
// object, or nested deeper than any document of ours.
std::optional<std::string> with_integers(
    std::string_view text, std::initializer_list<std::pair<const char*, std::int64_t>> values);

}  // namespace genscope::base
