// One cell of a plan, measured on this machine.
#pragma once

#include <cstdint>
#include <string>

#include "bench/machines/plan.h"

namespace genscope::bench {

struct CellOptions {
  std::string folder;  // results go to <folder>/<cell>/<attempt>/result.json
  bool again = false;  // also if it is measured already
};

struct CellRun {
  bool was_done = false;  // an earlier attempt measured it; nothing was run
  std::string result_path;
  Exit exit;
};

// `index` is below plan.cells.size().
Result<CellRun> run_cell(const Plan& plan, std::size_t index, const CellOptions& options);

}  // namespace genscope::bench
