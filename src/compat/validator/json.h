// Results of the validator as JSON, with the document's keys; what was not measured is null.
#pragma once

#include <nlohmann/json.hpp>

#include "genscope/compat/validator.h"

namespace genscope::compat {

using Json = nlohmann::ordered_json;

Json json_of(const BenchmarkResult& result);
Json json_of(const std::optional<stats::Interval>& interval);  // {low, high, confidence} or null

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// Text that is not UTF-8 is repaired, not thrown at.
inline std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace genscope::compat
