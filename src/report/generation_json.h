// The parts of `genscope.report/1` about steps, blocks, training, requests and recorded events.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <genscope/analyze.h>

namespace genscope::report {

// Both add to `absent` the reason for whatever is null in what they make.
nlohmann::ordered_json steps_json(const StepSummary& steps, nlohmann::ordered_json& absent);
// Sets `diffusion`, `training`, `requests`, `multimodal`, `bottlenecks`, `streaming`, `layers`,
// `cache`, `memory_events` and `models` of `report`.
void add_generation_json(const Analysis& analysis, nlohmann::ordered_json& report,
                         nlohmann::ordered_json& absent);

}  // namespace genscope::report
