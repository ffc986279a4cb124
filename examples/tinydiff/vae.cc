#include "vae.h"

#include <genscope/record.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "layers.h"

namespace tinydiff {
namespace {

constexpr std::array<Index, 4> kVaeChannels = {128, 96, 64, 40};  // by resolution, coarsest first
constexpr Index kVaeGroups = 8;
constexpr float kContrast = 1.3F;

}  // namespace

VaeDecoder::ResBlock::ResBlock(WeightSource& source, Index channels)
    : norm_in(source, channels, kVaeGroups),
      conv_in(source, channels, channels, 3),
      norm_out(source, channels, kVaeGroups),
      conv_out(source, channels, channels, 3) {}

VaeDecoder::Level::Level(WeightSource& source, Index in, Index out)
    : widen(source, in, out, 3), block(source, out) {}

VaeDecoder::VaeDecoder(WeightSource& source)
    : conv_in_(source, kLatentChannels, kVaeChannels[0], 3),
      middle_(source, kVaeChannels[0]),
      norm_out_(source, kVaeChannels.back(), kVaeGroups),
      conv_out_(source, kVaeChannels.back(), 3, 3),
      tone_(source, 3, 3) {
  for (std::size_t i = 1; i < kVaeChannels.size(); ++i) {
    levels_.emplace_back(source, kVaeChannels[i - 1], kVaeChannels[i]);
  }
}

Images VaeDecoder::run(Pool& pool, const ResBlock& block, const Images& x) {
  GENSCOPE_SPAN("res_block");
  Images hidden = conv2d(pool, block.conv_in, group_norm(pool, block.norm_in, x, true));
  hidden = conv2d(pool, block.conv_out, group_norm(pool, block.norm_out, hidden, true));
  add_gated(pool, hidden.data, nullptr, x.data);
  return hidden;
}

RgbImage VaeDecoder::decode(Pool& pool, const Images& latents, Index picture) const {
  Images x(1, latents.height, latents.width, latents.channels());
  x.data = latents.data.middleRows(picture * latents.pixels(), latents.pixels());
  x = run(pool, middle_, conv2d(pool, conv_in_, x));
  for (const Level& level : levels_) {
    GENSCOPE_SPAN("upsample_level");
    x = conv2d(pool, level.widen, resize(pool, x, 2 * x.height, 2 * x.width));
    x = run(pool, level.block, x);
  }
  x = conv2d(pool, conv_out_, group_norm(pool, norm_out_, x, true));
  x = group_norm(pool, tone_, x, false);

  RgbImage image{x.width, x.height,
                 std::vector<std::uint8_t>(static_cast<std::size_t>(x.data.size()))};
  std::transform(x.data.data(), x.data.data() + x.data.size(), image.pixels.begin(), [](float v) {
    const float light = 1.0F / (1.0F + std::exp(-kContrast * v));
    return static_cast<std::uint8_t>(std::lround(255.0F * light));
  });
  return image;
}

}  // namespace tinydiff
