// A small convolutional UNet in the manner of Stable Diffusion 1: three resolutions with skip
// connections, the timestep added inside every residual block, and cross-attention to the prompt
// at the lowest resolution.
//
// Video: the input carries the last clean frame of the block before as additional channels, as
// image-to-video UNets do; zeros in the first block.
#pragma once

#include <vector>

#include "conv.h"
#include "denoiser.h"
#include "layers.h"

namespace tinydiff {

class UNet final : public Denoiser {
 public:
  explicit UNet(WeightSource& source);

  Latents predict(Pool& pool, const Latents& noisy, double noise_level, const EncodedText& text,
                  const BlockContext& context, Index first_frame) const override;
  void remember(Pool& pool, const Latents& clean, const EncodedText& text, BlockContext& context,
                Index first_frame) const override;

 private:
  struct ResBlock {
    GroupNorm norm_in;
    Conv conv_in;
    Linear time;
    GroupNorm norm_out;
    Conv conv_out;
    Conv shortcut;  // 1 x 1

    ResBlock(WeightSource& source, Index in, Index out);
  };
  struct CrossAttention {
    LayerNorm norm_attention;
    Linear query;
    Linear key;
    Linear value;
    Linear out;
    LayerNorm norm_mlp;
    Linear up;
    Linear down;

    CrossAttention(WeightSource& source, Index channels);
  };

  static Images run(Pool& pool, const ResBlock& block, const Images& x, const Tensor& time);
  static void run(Pool& pool, const CrossAttention& block, Images& x, const EncodedText& text);
  // 1 x time width: the timestep and the prompt as a whole.
  Tensor condition(Pool& pool, double noise_level, const EncodedText& text) const;

  Linear time_up_;
  Linear time_down_;
  Linear pooled_in_;
  Linear frame_in_;
  Conv conv_in_;
  std::vector<ResBlock> down_;
  std::vector<Conv> downsample_;
  ResBlock middle_in_;
  CrossAttention middle_attention_;
  ResBlock middle_out_;
  std::vector<ResBlock> up_;
  GroupNorm norm_out_;
  Conv conv_out_;
};

}  // namespace tinydiff
