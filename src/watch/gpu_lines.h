// The GPU part of the live block.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "watch/live_block.h"

namespace genscope::watch {

// A line per GPU or MIG slice; from 4 on a grid with two or more a line.
std::vector<std::string> gpu_lines(const LiveState& state, const Look& look);

// Why there is no GPU: what the GPU probes said, the most telling first; "" if none said anything.
std::string no_gpu_reason(const std::vector<ProbeReport>& probes);

// "[#####-----]", or in blocks with `unicode`; `width` columns in all.
std::string bar_text(double ratio, std::size_t width, bool unicode);

}  // namespace genscope::watch
