// Cells over two axes, as tables with coloured fields: one table for each combination of the
// others.
#pragma once

#include <string>

#include "bench/output/output.h"

namespace genscope::bench::page {

// Empty where there are no two axes with two values. Shows the change where cells were compared,
// else the median.
std::string heat_maps(const BenchResult& result, const ResultPageOptions& options);

}  // namespace genscope::bench::page
