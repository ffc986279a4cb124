// The work of one forward of a denoiser, by architecture.
#pragma once

#include <string_view>
#include <vector>

#include <genscope/inspect.h>

#include "inspect/cost/work.h"

namespace genscope::inspect {

// What goes in. Of transformers the grid of patches, of UNets that of latent pixels.
struct Extent {
  double width = 0, height = 0;
  double frames = 1;  // latent
  double text = 0;

  double image() const noexcept { return width * height * frames; }
};

using DenoiserWork = Work (*)(const Dimensions&, const Extent&);

struct Denoiser {
  std::string_view architecture;  // as Identity::architecture has it
  DenoiserWork work;
  // Where the formula is from and against what it was checked, in a sentence.
  std::string_view source;
};

const std::vector<Denoiser>& denoisers();
const Denoiser* find_denoiser(std::string_view architecture) noexcept;

// Residual and attention blocks over three or four levels (SD 1, SD 2, SDXL and its refiner).
Work unet_work(const Dimensions& dimensions, const Extent& extent);

}  // namespace genscope::inspect
