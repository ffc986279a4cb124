// StepSeries: the finished steps of a run in the order of time, each with the loop that it is of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <genscope/trace.h>

#include "analyze/time.h"

namespace genscope::analysis {

struct StepPoint {
  std::int64_t begin_ns = 0;  // on the run's scale
  std::int64_t duration_ns = 0;
  std::uint32_t loop = 0;
  std::uint32_t span = kNone;  // of the loop's trace; kNone: it was told as an event
  bool failed = false;
  bool warmup = false;
  // The one meaning of the word: it neither warms up nor failed.
  bool steady() const noexcept { return !failed && !warmup; }
  Interval time() const noexcept { return interval(begin_ns, duration_ns); }
};

struct StepSeries {
  std::vector<StepPoint> steps;
  // Per loop the trace that it is in. Loops have at least StepSummary::kShortestLoop steps, but for
  // one in each trace that holds the steps of all shorter ones.
  std::vector<std::uint32_t> trace_of_loop;
};

// Spans of kind step; of a process that has none, its events `diffusion_step` that say how long
// they took. Marks the warm-up as StepSummary defines it. 32 bytes a step, and 8 more while it
// works; n log(tracks) comparisons where tracks interleave.
StepSeries step_series(const Run& run, std::span<const std::int64_t> clock_offset_ns);

// From the begin of the first steady step to the end of the last; empty without any.
Interval steady_stretch(const StepSeries& series) noexcept;

// The index of its trace; of several the first. Nothing without steps.
std::optional<std::uint32_t> process_with_most_steps(const StepSeries& series);

}  // namespace genscope::analysis
