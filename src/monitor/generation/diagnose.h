// From a generation to the facts that the rules ask for.
#pragma once

#include <genscope/advise.h>
#include <genscope/monitor.h>

namespace genscope::monitor {

// What the program said stands; the rest is what was measured. What was not is said to be missing.
Facts facts_of_generation(const GenerationMetrics& metrics, const GenerationSummary& summary);

}  // namespace genscope::monitor
