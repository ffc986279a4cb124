// Findings as JSON, for advice_json() and for reports that hold them.
#pragma once

#include <nlohmann/json.hpp>

#include <genscope/advise.h>

namespace genscope::report {

using Json = nlohmann::ordered_json;

// The `findings` of docs/rules.md.
Json findings_json(const Advice& advice);

}  // namespace genscope::report
