// The results of a plan's cells, put together again.
#pragma once

#include <string>
#include <vector>

#include <genscope/bench.h>
#include <genscope/error.h>

#include "bench/machines/plan.h"

namespace genscope::bench {

struct Gathered {
  // One for each class of machines, cells in the order of the plan: figures of unlike machines are
  // never in one result. Gates are corrected over all cells of it.
  std::vector<BenchResult> results;
  std::vector<std::string> missing;  // ids of cells without a result
  std::vector<std::string> notes;    // cells that ran twice, files that could not be read
  Exit exit;                         // of all of it
};

// Of several attempts at a cell: the first that measured something, by the time it ended. Reads
// what is there; files of another suite, or damaged ones, are named and left out. Holds all results
// at once, so memory grows with them.
Result<Gathered> gather(const Plan& plan, const std::string& folder, bool strict);

// Whether an attempt at this cell measured something already.
bool cell_is_done(const Plan& plan, const PlanCell& cell, const std::string& folder);

}  // namespace genscope::bench
