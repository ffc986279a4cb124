// The sections of `genscope.report/1`, a function or two for each subject. Each adds to `absent`
// the reason for whatever is null or empty in what it makes.
#pragma once

#include <genscope/advise.h>
#include <genscope/analyze.h>

#include "report/json_values.h"

namespace genscope::report {

// --- generation_json.cc

Json steps_json(const StepSummary& steps, Json& absent);
// Sets `diffusion`, `training`, `requests`, `multimodal`, `bottlenecks`, `streaming`, `layers`,
// `cache`, `memory_events` and `models` of `report`.
void add_generation_json(const Analysis& analysis, Json& report, Json& absent);

// --- telemetry_json.cc: what comes from samples

Json process_json(const Analysis& analysis, bool any_process, Json& absent);
Json gpus_json(const Telemetry& telemetry, Json& absent);
Json system_json(const Telemetry& telemetry, Json& absent);
Json cgroup_json(const Telemetry& telemetry, Json& absent);
Json cpu_packages_json(const Telemetry& telemetry, Json& absent);
Json allocators_json(const Telemetry& telemetry, Json& absent);
Json own_metrics_json(const Telemetry& telemetry, Json& absent);
Json processes_json(const Telemetry& telemetry);
Json telemetry_events_json(const Telemetry& telemetry);

// --- resources_json.cc

Json resources_json(const Resources& resources, Json& absent);

// --- advice_json.cc

// The `findings` of docs/rules.md.
Json findings_json(const Advice& advice);

}  // namespace genscope::report
