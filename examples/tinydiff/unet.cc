#include "unet.h"

#include <genscope/record.h>

#include <array>

#include "attention.h"

namespace tinydiff {
namespace {

constexpr std::array<Index, 3> kChannels = {128, 256, 384};  // by level, finest first
constexpr int kBlocksPerLevel = 2;
constexpr Index kGroups = 8;
constexpr Index kUnetHeads = 6;
constexpr Index kTimeWidth = 256;

}  // namespace

UNet::ResBlock::ResBlock(WeightSource& source, Index in, Index out)
    : norm_in(source, in, kGroups),
      conv_in(source, in, out, 3),
      time(source, kTimeWidth, out),
      norm_out(source, out, kGroups),
      conv_out(source, out, out, 3),
      shortcut(source, in, out, 1) {}

UNet::CrossAttention::CrossAttention(WeightSource& source, Index channels)
    : norm_attention(source, channels),
      query(source, channels, channels, 1.5),
      key(source, kTextWidth, channels, 1.5),
      value(source, kTextWidth, channels, 2.0),
      out(source, channels, channels),
      norm_mlp(source, channels),
      up(source, channels, 4 * channels),
      down(source, 4 * channels, channels) {}

UNet::UNet(WeightSource& source)
    : time_up_(source, kTimeWidth, kTimeWidth),
      time_down_(source, kTimeWidth, kTimeWidth),
      pooled_in_(source, kTextWidth, kTimeWidth, 2.0),
      frame_in_(source, kChannels[0], kChannels[0], 0.5),
      conv_in_(source, 2 * kLatentChannels, kChannels[0], 3),
      middle_in_(source, kChannels.back(), kChannels.back()),
      middle_attention_(source, kChannels.back()),
      middle_out_(source, kChannels.back(), kChannels.back()),
      norm_out_(source, kChannels[0], kGroups),
      conv_out_(source, kChannels[0], kLatentChannels, 3, 1, 1.5) {
  Index channels = kChannels[0];
  std::vector<Index> skips;
  for (std::size_t level = 0; level + 1 < kChannels.size(); ++level) {
    for (int i = 0; i < kBlocksPerLevel; ++i) {
      down_.emplace_back(source, channels, kChannels[level]);
      channels = kChannels[level];
      skips.push_back(channels);
    }
    downsample_.emplace_back(source, channels, kChannels[level + 1], 3, 2);
    channels = kChannels[level + 1];
  }
  for (std::size_t level = kChannels.size() - 1; level-- > 0;) {
    for (int i = 0; i < kBlocksPerLevel; ++i) {
      up_.emplace_back(source, channels + skips.back(), kChannels[level]);
      skips.pop_back();
      channels = kChannels[level];
    }
  }
}

Tensor UNet::condition(Pool& pool, double noise_level, const EncodedText& text) const {
  Tensor time = linear(pool, time_up_, sinusoid(1000.0 * noise_level, kTimeWidth));
  silu(pool, time);
  Tensor vector = linear(pool, time_down_, time) + linear(pool, pooled_in_, text.pooled);
  silu(pool, vector);
  return vector;
}

Images UNet::run(Pool& pool, const ResBlock& block, const Images& x, const Tensor& time) {
  GENSCOPE_SPAN("res_block");
  Images hidden = conv2d(pool, block.conv_in, group_norm(pool, block.norm_in, x, true));
  const Tensor shift = linear(pool, block.time, time);
  for (Index row = 0; row < hidden.data.rows(); ++row) hidden.data.row(row) += shift.row(0);
  hidden = conv2d(pool, block.conv_out, group_norm(pool, block.norm_out, hidden, true));
  const Images direct = conv2d(pool, block.shortcut, x);
  add_gated(pool, hidden.data, nullptr, direct.data);
  return hidden;
}

void UNet::run(Pool& pool, const CrossAttention& block, Images& x, const EncodedText& text) {
  GENSCOPE_SPAN("cross_attention");
  const Tensor query = linear(pool, block.query, layer_norm(pool, block.norm_attention, x.data));
  const Tensor key = linear(pool, block.key, text.tokens).replicate(x.count, 1);
  const Tensor value = linear(pool, block.value, text.tokens).replicate(x.count, 1);
  const Tensor mixed = attention(pool, query, key, value, x.count, kUnetHeads);
  add_gated(pool, x.data, nullptr, linear(pool, block.out, mixed));
  Tensor hidden = linear(pool, block.up, layer_norm(pool, block.norm_mlp, x.data));
  gelu(pool, hidden);
  add_gated(pool, x.data, nullptr, linear(pool, block.down, hidden));
}

Latents UNet::predict(Pool& pool, const Latents& noisy, double noise_level, const EncodedText& text,
                      const BlockContext& context, Index first_frame) const {
  const Images& in = noisy.images;
  const Tensor time = condition(pool, noise_level, text);

  Images past(in.count, in.height, in.width, in.channels());
  past.data.setZero();
  if (context.last_frame.count > 0) {
    for (Index picture = 0; picture < in.count; ++picture) {
      past.data.middleRows(picture * in.pixels(), in.pixels()) =
          context.last_frame.data.middleRows(picture / noisy.frames * in.pixels(), in.pixels());
    }
  }
  Images x = conv2d(pool, conv_in_, concat_channels(in, past));
  for (Index picture = 0; picture < x.count; ++picture) {
    const auto frame = static_cast<double>(first_frame + picture % noisy.frames);
    const Tensor place = linear(pool, frame_in_, sinusoid(0.25 * frame, kChannels[0], 64.0));
    for (Index i = 0; i < x.pixels(); ++i) x.data.row(picture * x.pixels() + i) += place.row(0);
  }

  std::vector<Images> skips;
  std::size_t block = 0;
  for (const Conv& downsample : downsample_) {
    GENSCOPE_SPAN("down_level");
    for (int i = 0; i < kBlocksPerLevel; ++i) {
      x = run(pool, down_[block++], x, time);
      skips.push_back(x);
    }
    x = conv2d(pool, downsample, x);
  }
  {
    GENSCOPE_SPAN("middle");
    x = run(pool, middle_in_, x, time);
    run(pool, middle_attention_, x, text);
    x = run(pool, middle_out_, x, time);
  }
  block = 0;
  while (!skips.empty()) {
    GENSCOPE_SPAN("up_level");
    // The skip's own size, not twice ours: an odd size was rounded up on the way down.
    x = resize(pool, x, skips.back().height, skips.back().width);
    for (int i = 0; i < kBlocksPerLevel; ++i) {
      x = run(pool, up_[block++], concat_channels(x, skips.back()), time);
      skips.pop_back();
    }
  }
  x = conv2d(pool, conv_out_, group_norm(pool, norm_out_, x, true));
  return {noisy.batch, noisy.frames, std::move(x)};
}

void UNet::remember(Pool& /*pool*/, const Latents& clean, const EncodedText& /*text*/,
                    BlockContext& context, Index /*first_frame*/) const {
  const Images& in = clean.images;
  context.last_frame = Images(clean.batch, in.height, in.width, in.channels());
  for (Index b = 0; b < clean.batch; ++b) {
    const Index picture = (b + 1) * clean.frames - 1;
    context.last_frame.data.middleRows(b * in.pixels(), in.pixels()) =
        in.data.middleRows(picture * in.pixels(), in.pixels());
  }
}

}  // namespace tinydiff
