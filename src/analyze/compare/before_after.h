// Document 000's fields, without its faults: a failed generation is none, and a time of 0 is
// absent.
#pragma once

#include <genscope/compare.h>

#include "analyze/compare/change_rows.h"
#include "analyze/compare/run_facts.h"

namespace genscope::analysis {

inline constexpr double kSignificantPercent = 50;  // of document 000

BeforeAfter before_after(const Side& before, const RunFacts& before_facts, const Side& after,
                         const RunFacts& after_facts, std::optional<double> target_seconds);

}  // namespace genscope::analysis
