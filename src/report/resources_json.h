// The part `resources` of `genscope.report/1`.
#pragma once

#include <nlohmann/json.hpp>

#include <genscope/analyze.h>

namespace genscope::report {

// Adds to `absent` the reason for whatever is null or empty in it.
nlohmann::ordered_json resources_json(const Resources& resources, nlohmann::ordered_json& absent);

}  // namespace genscope::report
