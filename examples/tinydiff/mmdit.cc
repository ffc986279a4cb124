#include "mmdit.h"

#include <genscope/record.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attention.h"

namespace tinydiff {
namespace {

constexpr Index kWidth = 256;
constexpr Index kHeads = 4;
constexpr Index kHeadSize = kWidth / kHeads;
constexpr Index kMlpWidth = 4 * kWidth;
constexpr int kBlocks = 10;
constexpr Index kPatch = 2;
constexpr Index kPatchValues = kPatch * kPatch * kLatentChannels;

// Shift, scale and gate of one sublayer. Each points to kWidth values of `values`.
struct Modulation {
  Tensor values;

  // The network's output is a correction: scale acts as 1 + output.
  explicit Modulation(Tensor output, int scales) : values(std::move(output)) {
    for (int i = 0; i < scales; ++i) {
      values.middleCols((3 * i + 1) * kWidth, kWidth).array() += 1.0F;
    }
  }
  const float* shift(int sublayer) const { return values.data() + 3 * sublayer * kWidth; }
  const float* scale(int sublayer) const { return shift(sublayer) + kWidth; }
  const float* gate(int sublayer) const { return shift(sublayer) + 2 * kWidth; }
};

// Places of patches as sinusoids: three eighths of the channels for y, as many for x, the rest for
// the frame. Half a radian per patch gives neighbours related vectors.
void add_positions(Tensor& x, const Latents& latents, Index first_frame) {
  constexpr Index kAxis = kWidth * 3 / 8;
  constexpr double kPeriod = 64.0;
  const Index rows = (latents.images.height + kPatch - 1) / kPatch;
  const Index cols = (latents.images.width + kPatch - 1) / kPatch;
  for (Index i = 0; i < x.rows(); ++i) {
    const Index frame = first_frame + i / (rows * cols) % latents.frames;
    auto row = x.row(i);
    row.leftCols(kAxis) += sinusoid(0.5 * static_cast<double>(i / cols % rows), kAxis, kPeriod);
    row.middleCols(kAxis, kAxis) += sinusoid(0.5 * static_cast<double>(i % cols), kAxis, kPeriod);
    row.rightCols(kWidth - 2 * kAxis) +=
        sinusoid(0.25 * static_cast<double>(frame), kWidth - 2 * kAxis, kPeriod);
  }
}

// For each sequence: the rows of `text`, of `image` and, if given, of `past`; columns
// [col, col + kWidth) of the first two.
Tensor join(const Tensor& text, const Tensor& image, Index col, const Tensor* past, Index batch) {
  const Index text_rows = text.rows() / batch;
  const Index image_rows = image.rows() / batch;
  const Index past_rows = past == nullptr ? 0 : past->rows() / batch;
  const Index rows = text_rows + image_rows + past_rows;
  Tensor joined(batch * rows, kWidth);
  for (Index b = 0; b < batch; ++b) {
    joined.middleRows(b * rows, text_rows) = view_of(text, b * text_rows, col, text_rows, kWidth);
    joined.middleRows(b * rows + text_rows, image_rows) =
        view_of(image, b * image_rows, col, image_rows, kWidth);
    if (past_rows > 0) {
      joined.middleRows(b * rows + text_rows + image_rows, past_rows) =
          past->middleRows(b * past_rows, past_rows);
    }
  }
  return joined;
}

// The inverse of join() for queries: parts the rows of each sequence again.
void part(const Tensor& joined, Index batch, Tensor& text, Tensor& image) {
  const Index rows = joined.rows() / batch;
  const Index text_rows = text.rows() / batch;
  const Index image_rows = rows - text_rows;
  for (Index b = 0; b < batch; ++b) {
    text.middleRows(b * text_rows, text_rows) = joined.middleRows(b * rows, text_rows);
    image.middleRows(b * image_rows, image_rows) =
        joined.middleRows(b * rows + text_rows, image_rows);
  }
}

}  // namespace

Tensor patchify(const Images& images) {
  const Index rows = (images.height + kPatch - 1) / kPatch;
  const Index cols = (images.width + kPatch - 1) / kPatch;
  const Index channels = images.channels();
  Tensor patches = Tensor::Zero(images.count * rows * cols, kPatch * kPatch * channels);
  for (Index pixel = 0; pixel < images.data.rows(); ++pixel) {
    const Index x = pixel % images.width;
    const Index y = pixel / images.width % images.height;
    const Index picture = pixel / images.pixels();
    const Index patch = (picture * rows + y / kPatch) * cols + x / kPatch;
    const Index slot = y % kPatch * kPatch + x % kPatch;
    std::copy_n(row_of(images.data, pixel), channels, row_of(patches, patch) + slot * channels);
  }
  return patches;
}

Images unpatchify(const Tensor& patches, Index count, Index height, Index width) {
  const Index rows = (height + kPatch - 1) / kPatch;
  const Index cols = (width + kPatch - 1) / kPatch;
  const Index channels = patches.cols() / (kPatch * kPatch);
  Images images(count, height, width, channels);
  for (Index pixel = 0; pixel < images.data.rows(); ++pixel) {
    const Index x = pixel % width;
    const Index y = pixel / width % height;
    const Index picture = pixel / images.pixels();
    const Index patch = (picture * rows + y / kPatch) * cols + x / kPatch;
    const Index slot = y % kPatch * kPatch + x % kPatch;
    std::copy_n(row_of(patches, patch) + slot * channels, channels, row_of(images.data, pixel));
  }
  return images;
}

MMDiT::Stream::Stream(WeightSource& source)
    : modulation(source, kWidth, 6 * kWidth, 0.7),
      qkv(source, kWidth, 3 * kWidth),
      out(source, kWidth, kWidth),
      up(source, kWidth, kMlpWidth),
      down(source, kMlpWidth, kWidth) {}

MMDiT::Block::Block(WeightSource& source) : text(source), image(source) {}

MMDiT::MMDiT(WeightSource& source)
    : patch_in_(source, kPatchValues, kWidth, 0.5),
      text_in_(source, kTextWidth, kWidth),
      time_up_(source, kWidth, kWidth),
      time_down_(source, kWidth, kWidth),
      pooled_in_(source, kTextWidth, kWidth),
      modulation_out_(source, kWidth, 3 * kWidth, 0.3),
      patch_out_(source, kWidth, kPatchValues, 0.2) {
  // The pixels of a patch share most of their weights: independent ones would show the patch grid.
  const Tensor shared = source.matrix(kWidth, kLatentChannels, 1.0 / std::sqrt(double{kWidth}));
  patch_out_.weight += shared.replicate(1, kPatch * kPatch);
  for (int i = 0; i < kBlocks; ++i) blocks_.emplace_back(source);
}

Tensor MMDiT::condition(Pool& pool, double noise_level, const EncodedText& text) const {
  Tensor time = linear(pool, time_up_, sinusoid(1000.0 * noise_level, kWidth));
  silu(pool, time);
  Tensor vector = linear(pool, time_down_, time) + linear(pool, pooled_in_, text.pooled);
  silu(pool, vector);
  return vector;
}

void MMDiT::run_block(Pool& pool, const Block& block, const Tensor& condition, Index batch,
                      const BlockContext::KeyValue* past, BlockContext::KeyValue* record,
                      Tensor& text, Tensor& image) const {
  const Modulation text_mod(linear(pool, block.text.modulation, condition), 2);
  const Modulation image_mod(linear(pool, block.image.modulation, condition), 2);
  {
    GENSCOPE_SPAN("joint_attention");
    const auto project = [&](const Stream& stream, const Modulation& mod, const Tensor& x) {
      Tensor qkv = linear(pool, stream.qkv, layer_norm(pool, x, mod.scale(0), mod.shift(0)));
      rms_norm_heads(pool, qkv, 0, 2 * kWidth, kHeadSize);
      return qkv;
    };
    const Tensor text_qkv = project(block.text, text_mod, text);
    const Tensor image_qkv = project(block.image, image_mod, image);
    if (record != nullptr) {
      record->key = image_qkv.middleCols(kWidth, kWidth);
      record->value = image_qkv.rightCols(kWidth);
    }
    const Tensor query = join(text_qkv, image_qkv, 0, nullptr, batch);
    const Tensor key = join(text_qkv, image_qkv, kWidth, past ? &past->key : nullptr, batch);
    const Tensor value =
        join(text_qkv, image_qkv, 2 * kWidth, past ? &past->value : nullptr, batch);
    const Tensor mixed = attention(pool, query, key, value, batch, kHeads);
    Tensor text_part(text.rows(), kWidth);
    Tensor image_part(image.rows(), kWidth);
    part(mixed, batch, text_part, image_part);
    add_gated(pool, text, text_mod.gate(0), linear(pool, block.text.out, text_part));
    add_gated(pool, image, image_mod.gate(0), linear(pool, block.image.out, image_part));
  }
  {
    GENSCOPE_SPAN("mlp");
    const auto mlp = [&](const Stream& stream, const Modulation& mod, Tensor& x) {
      Tensor hidden = linear(pool, stream.up, layer_norm(pool, x, mod.scale(1), mod.shift(1)));
      gelu(pool, hidden);
      add_gated(pool, x, mod.gate(1), linear(pool, stream.down, hidden));
    };
    mlp(block.text, text_mod, text);
    mlp(block.image, image_mod, image);
  }
}

Tensor MMDiT::forward(Pool& pool, const Latents& latents, double noise_level,
                      const EncodedText& text, const BlockContext& context, Index first_frame,
                      std::vector<BlockContext::KeyValue>* record) const {
  const Tensor vector = condition(pool, noise_level, text);
  Tensor image = linear(pool, patch_in_, patchify(latents.images));
  add_positions(image, latents, first_frame);
  Tensor words = linear(pool, text_in_, text.tokens).replicate(latents.batch, 1);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    GENSCOPE_SPAN("mmdit_block");
    const auto* past = context.layers.empty() ? nullptr : &context.layers[i];
    run_block(pool, blocks_[i], vector, latents.batch, past,
              record == nullptr ? nullptr : &(*record)[i], words, image);
  }
  if (record != nullptr) return {};
  const Modulation mod(linear(pool, modulation_out_, vector), 1);
  return linear(pool, patch_out_, layer_norm(pool, image, mod.scale(0), mod.shift(0)));
}

Latents MMDiT::predict(Pool& pool, const Latents& noisy, double noise_level,
                       const EncodedText& text, const BlockContext& context,
                       Index first_frame) const {
  const Tensor patches = forward(pool, noisy, noise_level, text, context, first_frame, nullptr);
  const Images& like = noisy.images;
  return {noisy.batch, noisy.frames, unpatchify(patches, like.count, like.height, like.width)};
}

void MMDiT::remember(Pool& pool, const Latents& clean, const EncodedText& text,
                     BlockContext& context, Index first_frame) const {
  GENSCOPE_SPAN("kv_cache_update");
  std::vector<BlockContext::KeyValue> layers(blocks_.size());
  forward(pool, clean, 0.0, text, context, first_frame, &layers);
  context.layers = std::move(layers);
}

}  // namespace tinydiff
