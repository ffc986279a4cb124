// The steps of a run as one series: the first against the rest, warm-up, and the steady ones.
#pragma once

#include <genscope/analyze.h>
#include <genscope/trace.h>

#include "analyze/generation/step_series.h"

namespace genscope::analysis {

// Linear in the steps; 16 bytes a step while it works.
StepSummary summarize_steps(const StepSeries& series);
// What lies inside the steps (inside_steps.cc). After summarize_steps(); linear in the spans.
void add_inside_steps(const Run& run, const StepSeries& series, StepSummary& summary);
// The device time of the finished steps that have it.
void add_device_time(const Run& run, StepSummary& summary);

}  // namespace genscope::analysis
