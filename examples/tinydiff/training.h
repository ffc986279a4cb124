// A training loop of the smallest kind: it fits the gain of the denoiser's output. One parameter,
// but data, forward passes, losses, epochs and batches like any other.
#pragma once

#include "pipeline.h"

namespace tinydiff {

// Returns the loss of the last batch.
double train(Pipeline& pipeline, const Options& options, const Spoil& spoil);

}  // namespace tinydiff
