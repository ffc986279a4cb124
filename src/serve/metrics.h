// What Prometheus reads: text format 0.0.4.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <genscope/store.h>

#include "serve/http.h"
#include "serve/runs.h"

namespace genscope::serve {

// Runs in progress with where they are, and the server itself.
std::string metrics_text(const std::vector<std::pair<RunEntry, Progress>>& runs,
                         const HttpCounts& server);

}  // namespace genscope::serve
