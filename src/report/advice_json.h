// Findings as JSON, for advice_json() and for reports that hold them.
#pragma once

#include <genscope/advise.h>

#include "report/json_values.h"

namespace genscope::report {

// The `findings` of docs/rules.md.
Json findings_json(const Advice& advice);

}  // namespace genscope::report
