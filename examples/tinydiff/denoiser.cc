#include "denoiser.h"

#include "mmdit.h"
#include "unet.h"

namespace tinydiff {

std::unique_ptr<Denoiser> make_denoiser(const std::string& arch, WeightSource& source) {
  if (arch == "unet") return std::make_unique<UNet>(source);
  return std::make_unique<MMDiT>(source);
}

}  // namespace tinydiff
