// The steps of a run without the warm-up of their loops, as StepSummary tells them apart.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <genscope/trace.h>

namespace genscope::analysis {

struct SteadySteps {
  std::vector<std::int64_t> durations_ns;  // process by process, in the order of time
  // The length of every loop, if all have the same and every step is in one.
  std::optional<std::uint64_t> per_loop;
};

// A loop is the steps in one span, through functions, tasks and forwards around them; else those of
// one track. Of its first two steps those are warm-up that are over 1.5 times the median of the
// later ones; loops of fewer than 4 steps are taken together, one series a process. Only finished
// steps that did not fail count. Linear, 4 bytes a span of a process that has steps.
SteadySteps steady_steps(const Run& run);

}  // namespace genscope::analysis
