// What a run used, as lines for people: per stage, growth of memory, energy, throttling,
// utilisation, the GPU's time.
#pragma once

#include <string>
#include <vector>

#include <genscope/analyze.h>

#include "report/table.h"

namespace genscope::report {

// Each is empty where there is nothing to say. Unknown is "-".
Table stage_use_table(const Resources& resources);
Table device_time_table(const Resources& resources);
Table kernel_table(const Resources& resources);
// Leaks, energy per thing made, throttling, utilisation: sentences.
std::vector<std::string> resource_sentences(const Resources& resources);

}  // namespace genscope::report
