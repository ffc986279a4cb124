// How much of the GPU's peak the steps reach: genscope/predict.h against what was measured.
#pragma once

#include <genscope/analyze.h>

#include "analyze/generation/step_series.h"
#include "analyze/resources/readings.h"
#include "analyze/resources/stretches.h"
#include "analyze/settings.h"

namespace genscope::analysis {

// Model, size, steps, batch, data type, guidance and offload as the program says them; the GPU by
// the name of its entity, else as the program says. What is missing is named in `reason`.
Utilisation utilisation(const Analysis& analysis, const Settings& settings,
                        const Readings& readings, const StepSeries& steps,
                        std::optional<double> forwards_per_step);

// Median number of outermost forwards (kind forward) within a step; nothing if none is marked in
// one. Linear in the spans; 4 bytes a span of the traces that have both.
std::optional<double> count_forwards(const Run& run);

}  // namespace genscope::analysis
