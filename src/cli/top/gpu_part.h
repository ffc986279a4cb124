// The GPUs on top's screen.
#pragma once

#include <string>
#include <vector>

#include "cli/top/frame.h"
#include "watch/cells.h"

namespace genscope::cli::top {

// Two lines for each GPU or MIG slice; from 4 on a grid, with the reasons of what is missing below
// it. One line with the reason if there is none.
std::vector<std::string> gpu_part(const Frame& frame, const watch::Look& look);

}  // namespace genscope::cli::top
