// The JSON of the generation monitor: docs/monitors.md has its keys.
#pragma once

#include <string>

#include <genscope/monitor.h>

namespace genscope::monitor {

// The whole file: the three keys that such files have, and the history.
std::string export_json(const GenerationExport& all, const GenerationSummary& summary);

}  // namespace genscope::monitor
