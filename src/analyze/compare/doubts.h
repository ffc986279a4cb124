// What stands against a comparison: reasons that forbid it, and doubts that belong beside it.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "analyze/compare/run_facts.h"
#include "analyze/compare/run_record.h"

namespace genscope::analysis {

// A side with what its runs say together.
struct Side {
  Records runs;
  RunFacts facts;
  std::vector<Conflict> conflicts;  // what its runs differ in
};

// Adds to `incomparable`; needs `workload` filled.
void add_obstacles(const Side& before, const Side& after, Comparison& result);

// Adds to `notes`.
void add_notes(const Side& before, const Side& after, Comparison& result);

}  // namespace genscope::analysis
