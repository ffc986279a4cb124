// The fields of generation monitors, without their faults: a failed generation is none, and a time
// of 0 is absent.
#pragma once

#include <genscope/analyze.h>

#include "analyze/compare/run_facts.h"
#include "analyze/compare/run_record.h"

namespace genscope::analysis {

inline constexpr double kSignificantPercent = 50;  // below half, one pair of runs says little

BeforeAfter before_after(const Records& before, const RunFacts& before_facts, const Records& after,
                         const RunFacts& after_facts, std::optional<double> target_seconds);

}  // namespace genscope::analysis
