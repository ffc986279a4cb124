// Autoencoders: how they shrink an image, what decoding costs and how much memory it takes.
#pragma once

#include <cstdint>
#include <string_view>

#include "inspect/cost/work.h"

namespace genscope::inspect {

enum class VaeKind : std::uint8_t {
  kl4,   // SD, SDXL: AutoencoderKL with 4 channels
  kl16,  // SD3, FLUX.1
  kl32,  // FLUX.2
  wan,   // Wan 2.1, Qwen-Image
  wan22,
  hunyuan,
  cogvideox,
  ltx,
  mochi,
  dc_ae,
};

// A picture or clip as the decoder writes it.
struct Clip {
  double width = 0, height = 0;  // pixels
  double latent_frames = 1;
};

struct Vae {
  VaeKind kind;
  std::string_view name;
  std::uint64_t scale;       // pixels of a side to one latent pixel
  std::uint64_t temporal;    // frames to one latent frame, after the first; 0: images only
  std::uint64_t parameters;  // 0: not known
  bool decode_known;         // whether decode_work() counts it
  std::string_view peak_source;
};

const Vae& vae(VaeKind kind) noexcept;

// Work of decoding; nothing if !decode_known.
Work decode_work(VaeKind kind, const Clip& clip);
// Most bytes that decoding takes at once on top of the weights, with 2 bytes an element and no
// tiles; 0: not known.
double decode_peak_bytes(VaeKind kind, const Clip& clip) noexcept;

}  // namespace genscope::inspect
