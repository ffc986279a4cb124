// What Prometheus reads: text format 0.0.4.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <genscope/store.h>
#include <genscope/trace.h>

#include "serve/http.h"

namespace genscope::serve {

struct MeasuredRun {
  std::string id;
  std::shared_ptr<const Progress> progress;  // null: it is being caught up with
};

// Runs in progress with where they are, and the server itself. Always valid, whatever the program
// calls its counters and stages: bytes that are not UTF-8 become U+FFFD, no series comes twice, and
// the text is bounded. What is left out for that is counted in `genscope_series_left_out`.
std::string metrics_text(const std::vector<MeasuredRun>& runs, const HttpCounts& server);

// What a metric of docs/metrics.md is called here: base units, and no ending that Prometheus keeps
// for itself.
std::string prometheus_name(const Metric& metric);

}  // namespace genscope::serve
