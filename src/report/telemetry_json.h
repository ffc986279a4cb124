// The parts of `genscope.report/1` that come from samples.
#pragma once

#include <genscope/analyze.h>

#include "report/json_values.h"

namespace genscope::report {

// Each adds to `absent` the reason for whatever is null in what it returns.
Json process_json(const Analysis& analysis, bool any_process, Json& absent);
Json gpus_json(const Telemetry& telemetry, Json& absent);
Json system_json(const Telemetry& telemetry, Json& absent);
Json cgroup_json(const Telemetry& telemetry, Json& absent);
Json cpu_packages_json(const Telemetry& telemetry, Json& absent);
Json allocators_json(const Telemetry& telemetry, Json& absent);
Json own_metrics_json(const Telemetry& telemetry, Json& absent);
Json processes_json(const Telemetry& telemetry);
Json telemetry_events_json(const Telemetry& telemetry);

}  // namespace genscope::report
