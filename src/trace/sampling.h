// The one thing that a session needs of probes, as a port: `record` calls it, `probe` defines it,
// and neither includes the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "genscope/sample.h"

namespace genscope::trace {

struct SamplingPlan {
  std::vector<std::string> probes;  // by name; unknown ones are left out and told in `errors`
  double interval_seconds = 0.1;    // of the fast tier
  double budget_ratio = 0.001;
  bool gpu_memory = true, gpu_utilization = true, gpu_temperature = true, gpu_power = true;
};

// Samples this process into `sink` until the last copy of the result is gone. In a forked child
// the copies do nothing. Null if nothing could be started.
std::shared_ptr<void> start_sampling(const SamplingPlan& plan, std::unique_ptr<SampleSink> sink,
                                     std::vector<std::string>& errors);

}  // namespace genscope::trace
