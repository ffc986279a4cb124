// The decoder of a variational autoencoder: latents -> RGB, eight times larger along each side.
#pragma once

#include <cstdint>
#include <vector>

#include "conv.h"

namespace tinydiff {

struct RgbImage {
  Index width = 0;
  Index height = 0;
  std::vector<std::uint8_t> pixels;  // height * width * 3, rows from the top
};

class VaeDecoder {
 public:
  explicit VaeDecoder(WeightSource& source);
  // Decodes one picture of `latents`.
  RgbImage decode(Pool& pool, const Images& latents, Index picture) const;

 private:
  struct ResBlock {
    GroupNorm norm_in;
    Conv conv_in;
    GroupNorm norm_out;
    Conv conv_out;

    ResBlock(WeightSource& source, Index channels);
  };
  struct Level {
    Conv widen;  // after the upsampling
    ResBlock block;

    Level(WeightSource& source, Index in, Index out);
  };

  static Images run(Pool& pool, const ResBlock& block, const Images& x);

  Conv conv_in_;
  ResBlock middle_;
  std::vector<Level> levels_;
  GroupNorm norm_out_;
  Conv conv_out_;
  GroupNorm tone_;  // one group per color: brings any random decoder to a mid grey with contrast
};

}  // namespace tinydiff
