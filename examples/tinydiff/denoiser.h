// What the pipeline asks of a denoising network; mmdit.h and unet.h answer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pool.h"
#include "rng.h"
#include "tensor.h"
#include "text_encoder.h"

namespace tinydiff {

// What a video block knows of the one before it. Owned by the pipeline, one per guidance branch,
// because the branches see different prompts and hence remember differently.
struct BlockContext {
  struct KeyValue {
    Tensor key;
    Tensor value;
  };
  std::vector<KeyValue> layers;  // mmdit: image keys and values of each layer of the last block
  Images last_frame;             // unet: the last clean frame of each sequence
};

class Denoiser {
 public:
  virtual ~Denoiser() = default;

  // The clean latents that the network sees behind `noisy`. `noise_level` runs from 1 (only noise)
  // to 0; `first_frame` is the place of the first frame in the whole video.
  virtual Latents predict(Pool& pool, const Latents& noisy, double noise_level,
                          const EncodedText& text, const BlockContext& context,
                          Index first_frame) const = 0;

  // Replaces `context` by what the next block needs to know of the finished one, `clean`.
  virtual void remember(Pool& pool, const Latents& clean, const EncodedText& text,
                        BlockContext& context, Index first_frame) const = 0;
};

// `arch` is "mmdit" or "unet".
std::unique_ptr<Denoiser> make_denoiser(const std::string& arch, WeightSource& source);

}  // namespace tinydiff
