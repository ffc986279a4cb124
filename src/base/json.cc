#include "base/json.h"

#include <nlohmann/json.hpp>

namespace genscope::base {

using nlohmann::json;

struct JsonObject::Value {
  json object;
  const json* find(const char* key) const {
    const auto it = object.find(key);
    return it != object.end() ? &*it : nullptr;
  }
};

JsonObject::JsonObject(std::string_view text) : value_(std::make_unique<Value>()) {
  value_->object = json::parse(text, nullptr, false);
  valid_ = value_->object.is_object();
  if (!valid_) value_->object = json::object();
}
JsonObject::~JsonObject() = default;
JsonObject::JsonObject(JsonObject&&) noexcept = default;
JsonObject& JsonObject::operator=(JsonObject&&) noexcept = default;

bool JsonObject::has(const char* key) const { return value_->find(key) != nullptr; }

std::string JsonObject::text(const char* key) const {
  const json* const v = value_->find(key);
  return v != nullptr && v->is_string() ? v->get<std::string>() : std::string();
}

std::vector<std::string> JsonObject::texts(const char* key) const {
  std::vector<std::string> out;
  const json* const v = value_->find(key);
  if (v == nullptr || !v->is_array()) return out;
  for (const json& item : *v) {
    if (item.is_string()) out.push_back(item.get<std::string>());
  }
  return out;
}

// Only what is an integer in the text: a float of any size would be undefined to convert.
std::int64_t JsonObject::integer(const char* key, std::int64_t fallback) const {
  const json* const v = value_->find(key);
  return v != nullptr && v->is_number_integer() ? v->get<std::int64_t>() : fallback;
}

std::uint64_t JsonObject::natural(const char* key, std::uint64_t fallback) const {
  const json* const v = value_->find(key);
  return v != nullptr && v->is_number_unsigned() ? v->get<std::uint64_t>() : fallback;
}

double JsonObject::number(const char* key, double fallback) const {
  const json* const v = value_->find(key);
  return v != nullptr && v->is_number() ? v->get<double>() : fallback;
}

bool JsonObject::flag(const char* key) const {
  const json* const v = value_->find(key);
  return v != nullptr && v->is_boolean() && v->get<bool>();
}

namespace {

// Nothing if it is no object, or nested deeper than any document of ours.
std::optional<json> shallow_object(std::string_view text) {
  // Parsing needs no stack, writing recurses.
  constexpr int kMaxDepth = 100;
  bool deep = false;
  const auto watch = [&](int depth, json::parse_event_t, const json&) {
    deep |= depth > kMaxDepth;
    return !deep;
  };
  json object = json::parse(text, watch, false);
  if (deep || !object.is_object()) return std::nullopt;
  return object;
}

}  // namespace

std::optional<std::string> with_texts(std::string_view text, const char* key,
                                      const std::vector<std::string>& values) {
  std::optional<json> object = shallow_object(text);
  if (!object) return std::nullopt;
  if (values.empty()) {
    object->erase(key);
  } else {
    (*object)[key] = values;
  }
  return object->dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::string> with_integers(
    std::string_view text, std::initializer_list<std::pair<const char*, std::int64_t>> values) {
  std::optional<json> object = shallow_object(text);
  if (!object) return std::nullopt;
  for (const auto& [key, value] : values) (*object)[key] = value;
  return object->dump();
}

}  // namespace genscope::base
