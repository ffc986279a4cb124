// The verdict of a whole comparison, and its reason in sentences.
#pragma once

#include <genscope/compare.h>

#include "analyze/compare/change_rows.h"

namespace genscope::analysis {

// Fills verdict and reason from the steady steps, else all steps, else batches, else requests that
// both runs have; from the wall time alone comes no verdict. Needs `rows`.
void give_verdict(const Side& before, const Side& after, Comparison& result);

}  // namespace genscope::analysis
