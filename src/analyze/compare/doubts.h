// What stands against a comparison: reasons that forbid it, and doubts that belong beside it.
#pragma once

#include <genscope/compare.h>

#include "analyze/compare/change_rows.h"
#include "analyze/compare/run_facts.h"

namespace genscope::analysis {

// Adds to `incomparable`; needs `workload` filled.
void add_obstacles(const Side& before, const Side& after, Comparison& result);

// Adds to `notes`.
void add_notes(const Side& before, const RunFacts& before_facts, const Side& after,
               const RunFacts& after_facts, Comparison& result);

}  // namespace genscope::analysis
