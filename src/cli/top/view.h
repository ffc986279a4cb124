// The screen of `genscope top`: a pure function from a frame to lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/top/frame.h"
#include "watch/cells.h"

namespace genscope::cli::top {

// Lines no wider than the terminal and, unless `rows` is 0, at most so many: then the last one says
// how many are missing. `full_screen` adds the keys to the first line.
std::vector<std::string> frame_lines(const Frame& frame, const watch::Look& look, std::size_t rows,
                                     bool full_screen);

}  // namespace genscope::cli::top
