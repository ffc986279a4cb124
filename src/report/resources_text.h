// What a run used, as sections of the text report: use by stage, the GPU's time, kernels, and
// sentences on utilisation, energy, leaks and throttling.
#pragma once

#include <vector>

#include <genscope/analyze.h>

#include "report/generation_text.h"

namespace genscope::report {

// In the order to show them; none is empty. Unknown is "-".
std::vector<Section> resource_sections(const Resources& resources);

}  // namespace genscope::report
