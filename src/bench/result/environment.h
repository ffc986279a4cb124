// What this machine is, and whether it is fit to measure; from the probes, with injected roots.
#pragma once

#include <genscope/bench.h>
#include <genscope/probe.h>

namespace genscope::bench {

Environment inspect_environment(const ProbeOptions& options);

// Of stable facts only: GPUs, driver branch, runtime, CPU and cores, OS family. Never of a reading
// such as a clock or a temperature, which would split one machine into many.
std::string environment_class(const std::map<std::string, std::string>& fingerprint);

}  // namespace genscope::bench
