// Plan: a workload with every default filled in, as the model's pipeline would run it.
#pragma once

#include <string>
#include <vector>

#include <genscope/predict.h>

#include "inspect/cost/denoiser.h"
#include "inspect/cost/profile.h"

namespace genscope::inspect {

struct Plan {
  const Profile* profile = nullptr;
  const Denoiser* denoiser = nullptr;
  Workload workload;  // complete
  Extent extent;      // of the denoiser
  Clip clip;          // of the VAE
  std::uint64_t guidance_devices = 1, token_devices = 1;
  std::vector<std::string> notes;
};

// Fails on sizes that no pipeline takes; the message names the field.
Result<Plan> make_plan(const CostSpec& spec, const Workload& workload);

}  // namespace genscope::inspect
