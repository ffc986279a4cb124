// What the JSON outputs share: a value that was not measured is null, never 0 or "".
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace genscope::report {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace genscope::report
