// How much memory a generation takes on the device, moment by moment.
#pragma once

#include <genscope/predict.h>

#include "inspect/cost/plan.h"
#include "inspect/cost/work.h"

namespace genscope::inspect {

struct Memory {
  double denoiser = 0;  // its weights, wherever they are
  double experts = 0;   // of further denoisers that take turns with it
  double weights = 0;   // on the device at once
  double activations = 0;
  double math_attention = 0;  // on top, if attention is not fused
  double vae_peak = 0;
  double peak = 0;
};

// `work` is that of one forward of one sample. `tiled`: the VAE decodes tiles of 512 by 512.
Memory memory_of(const CostSpec& spec, const Plan& plan, const Work& work, bool tiled = false);

// What would lower the peak, each with what it saves, and whether it then fits; the kindest to
// speed and quality first. What fits already needs none.
std::vector<std::string> remedies_for(const CostSpec& spec, const Plan& plan, const Work& work,
                                      double limit_bytes, bool has_link);

std::string gib(double bytes);  // "22.2 GiB"

}  // namespace genscope::inspect
