// Stops of a program that otherwise keeps a CPU busy.
#pragma once

#include <optional>

#include <genscope/analyze.h>

#include "analyze/energy.h"

namespace genscope::analysis {

// From the readings of the tree's CPU time. Nothing with fewer than 30 stretches between readings,
// or if it usually uses less than half a CPU.
std::optional<Pauses> find_pauses(const Points& cpu_ns);

}  // namespace genscope::analysis
