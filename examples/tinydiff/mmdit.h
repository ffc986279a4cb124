// A multimodal diffusion transformer in the manner of Stable Diffusion 3: text and image tokens
// keep their own weights and meet in joint attention; the timestep modulates every norm (adaLN).
//
// Video: the frames of a block form one sequence. Later blocks also attend to the keys and values
// that the image tokens of the block before them had when clean, as streaming video models do.
#pragma once

#include <vector>

#include "denoiser.h"
#include "layers.h"

namespace tinydiff {

class MMDiT final : public Denoiser {
 public:
  explicit MMDiT(WeightSource& source);

  Latents predict(Pool& pool, const Latents& noisy, double noise_level, const EncodedText& text,
                  const BlockContext& context, Index first_frame) const override;
  void remember(Pool& pool, const Latents& clean, const EncodedText& text, BlockContext& context,
                Index first_frame) const override;

 private:
  // The weights of one of the two streams in one block.
  struct Stream {
    Linear modulation;  // six vectors: shift, scale, gate for attention and for the MLP
    Linear qkv;
    Linear out;
    Linear up;
    Linear down;

    explicit Stream(WeightSource& source);
  };
  struct Block {
    Stream text;
    Stream image;

    explicit Block(WeightSource& source);
  };

  // Runs the blocks. With `record` null, returns the predicted patches; otherwise fills it with the
  // image keys and values of each layer.
  Tensor forward(Pool& pool, const Latents& latents, double noise_level, const EncodedText& text,
                 const BlockContext& context, Index first_frame,
                 std::vector<BlockContext::KeyValue>* record) const;
  void run_block(Pool& pool, const Block& block, const Tensor& condition, Index batch,
                 const BlockContext::KeyValue* past, BlockContext::KeyValue* record, Tensor& text,
                 Tensor& image) const;
  Tensor condition(Pool& pool, double noise_level, const EncodedText& text) const;

  Linear patch_in_;
  Linear text_in_;
  Linear time_up_;
  Linear time_down_;
  Linear pooled_in_;
  std::vector<Block> blocks_;
  Linear modulation_out_;
  Linear patch_out_;
};

// Cuts pictures into 2 x 2 patches, one row each; an odd edge is filled up with zeros.
Tensor patchify(const Images& images);
// The inverse, for pictures of the given size; the filling is dropped.
Images unpatchify(const Tensor& patches, Index count, Index height, Index width);

}  // namespace tinydiff
