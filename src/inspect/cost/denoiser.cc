#include "inspect/cost/denoiser.h"

#include "inspect/cost/blocks.h"

namespace genscope::inspect {
namespace {

// The sizes as doubles, with what every transformer has: the way in and out of its patches.
struct Sizes {
  Sizes(const Dimensions& dims, const Extent& e)
      : n(e.image()),
        t(e.text),
        d(static_cast<double>(dims.width)),
        f(static_cast<double>(dims.ffn_width)),
        kv(static_cast<double>(dims.kv_width)),
        layers(static_cast<double>(dims.layers)),
        single(static_cast<double>(dims.single_layers)),
        refiner(static_cast<double>(dims.refiner_layers)),
        text(static_cast<double>(dims.text_width)),
        pooled(static_cast<double>(dims.pooled_width)),
        in(static_cast<double>(dims.in_channels * dims.patch * dims.patch)),
        out(static_cast<double>(dims.out_channels * dims.patch * dims.patch)) {}

  double s() const { return n + t; }
  Work patches() const { return matmul(n, in, d) + matmul(n, d, out); }
  // Texts come in through one layer, or through two with an activation between.
  Work text_in() const { return matmul(t, text, d); }
  Work text_in_twice() const { return matmul(t, text, d) + matmul(t, d, d); }
  Work pooled_in() const { return pooled > 0 ? matmul(1, pooled, d) + matmul(1, d, d) : Work{}; }

  double n, t, d, f, kv, layers, single, refiner, text, pooled, in, out;
};

Work flux_blocks(const Sizes& x) {
  return x.layers * dual_block(x.n, x.t, x.d, x.f) + x.single * parallel_block(x.s(), x.d, x.f);
}

Work flux_modulations(const Sizes& x) {
  return 2 * x.layers * modulation(x.d, 6, x.d) + x.single * modulation(x.d, 3, x.d) +
         modulation(x.d, 2, x.d);
}

Work flux(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  return flux_blocks(x) + flux_modulations(x) + x.patches() + x.text_in() + x.pooled_in() +
         (dims.guidance_embedding ? 2 : 1) * scalar_embedding(x.d);
}

// FLUX without modulation layers: a small network makes all modulations, one row for each.
Work chroma(const Dimensions& dims, const Extent& e) {
  constexpr double kIn = 64, kHidden = 5120, kDepth = 5;
  const Sizes x(dims, e);
  const double rows = 3 * x.single + 12 * x.layers + 2;
  return flux_blocks(x) + x.patches() + x.text_in() + matmul(rows, kIn, kHidden) +
         2 * kDepth * matmul(rows, kHidden, kHidden) + matmul(rows, kHidden, x.d);
}

// Gated feed-forward layers; three modulations for all blocks together.
Work flux2(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  const double s = x.s();
  const Work dual = projections(x.n, x.d) + projections(x.t, x.d) + attend(s, s, x.d) +
                    gated_mlp(x.n, x.d, x.f) + gated_mlp(x.t, x.d, x.f);
  const Work single =
      matmul(s, x.d, 3 * x.d + 2 * x.f) + attend(s, s, x.d) + matmul(s, x.d + x.f, x.d);
  return x.layers * dual + x.single * single + x.patches() + x.text_in() +
         (dims.guidance_embedding ? 2 : 1) * scalar_embedding(x.d) + 2 * modulation(x.d, 6, x.d) +
         modulation(x.d, 3, x.d) + modulation(x.d, 2, x.d);
}

Work qwen_image(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  return flux_blocks(x) + flux_modulations(x) + x.patches() + x.text_in() + scalar_embedding(x.d);
}

// The last block writes no text; SD3.5-M attends a second time over the image in its first blocks.
Work sd3(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  const Work dual = dual_block(x.n, x.t, x.d, x.f) + 2 * modulation(x.d, 6, x.d);
  const Work last = projections(x.n, x.d) + mlp(x.n, x.d, x.f) + matmul(x.t, x.d, 3 * x.d) +
                    attend(x.s(), x.s(), x.d) + modulation(x.d, 6, x.d) + modulation(x.d, 2, x.d);
  const Work again = projections(x.n, x.d) + attend(x.n, x.n, x.d) + modulation(x.d, 3, x.d);
  return (x.layers - 1) * dual + last + static_cast<double>(dims.attention2_layers) * again +
         x.patches() + x.text_in() + x.pooled_in() + scalar_embedding(x.d) +
         modulation(x.d, 2, x.d);
}

// FLUX with a refiner over the text, which has a time embedding of its own.
Work hunyuan_video(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  const Work refiner =
      projections(x.t, x.d) + attend(x.t, x.t, x.d) + mlp(x.t, x.d, x.f) + modulation(x.d, 2, x.d);
  const Work refiner_time = scalar_embedding(x.d) + matmul(1, x.text, x.d) + matmul(1, x.d, x.d);
  return flux(dims, e) + x.refiner * refiner + refiner_time;
}

// Registers are text tokens that the model brings along.
Work auraflow(const Dimensions& dims, const Extent& e) {
  constexpr double kRegisters = 8;
  const Sizes x(dims, e);
  const double t = x.t + kRegisters;
  const double s = x.n + t;
  const Work dual = projections(x.n, x.d) + projections(t, x.d) + attend(s, s, x.d) +
                    gated_mlp(x.n, x.d, x.f) + gated_mlp(t, x.d, x.f) + 2 * modulation(x.d, 6, x.d);
  const Work single =
      projections(s, x.d) + attend(s, s, x.d) + gated_mlp(s, x.d, x.f) + modulation(x.d, 6, x.d);
  return x.layers * dual + x.single * single + x.patches() + x.text_in() + scalar_embedding(x.d) +
         modulation(x.d, 2, x.d);
}

Work next_block(double n, const Sizes& x) {
  return projections(n, x.d, x.kv) + attend(n, n, x.d) + gated_mlp(n, x.d, x.f);
}

// One stream, and before it a few layers on the image and on the text alone. The last layer is
// applied to text tokens too, which are then thrown away. `time` is the width of the time vector.
Work next_dit(const Sizes& x, double n, double t, double time_width) {
  const Work modulated = modulation(time_width, 4, x.d);
  return x.layers * (next_block(n + t, x) + modulated) +
         x.refiner * (next_block(n, x) + modulated + next_block(t, x)) + matmul(n, x.in, x.d) +
         matmul(n + t, x.d, x.out) + matmul(t, x.text, x.d) + matmul(1, time_width, x.d);
}

Work lumina2(const Dimensions& dims, const Extent& e) {
  constexpr double kTime = 1024;
  const Sizes x(dims, e);
  return next_dit(x, x.n, x.t, kTime) + scalar_embedding(kTime);
}

// Both sequences are padded to multiples of 32.
Work z_image(const Dimensions& dims, const Extent& e) {
  constexpr double kTime = 256, kTimeHidden = 1024, kPad = 32;
  const auto padded = [](double n) {
    return static_cast<double>((static_cast<std::uint64_t>(n) + 31) / 32) * kPad;
  };
  const Sizes x(dims, e);
  return next_dit(x, padded(x.n), padded(x.t), kTime) + matmul(1, kTime, kTimeHidden) +
         matmul(1, kTimeHidden, kTime);
}

// One modulation for all blocks, to which each adds a table of its own (adaLN-single).
Work cross_model(const Sizes& x) {
  return x.layers * cross_block(x.n, x.t, x.d, x.f) + x.patches() + x.text_in_twice() +
         scalar_embedding(x.d) + modulation(x.d, 6, x.d);
}

// Image to video, 2.1: the image's 257 CLIP tokens are attended to as well.
Work wan(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  const auto clip = static_cast<double>(dims.image_width);
  constexpr double kClipTokens = 257;
  if (clip <= 0) return cross_model(x);
  return cross_model(x) +
         x.layers * (matmul(kClipTokens, x.d, 2 * x.d) + attend(x.n, kClipTokens, x.d)) +
         matmul(kClipTokens, clip, clip) + matmul(kClipTokens, clip, x.d);
}

Work cross_attention_model(const Dimensions& dims, const Extent& e) {
  return cross_model(Sizes(dims, e));
}

// Linear attention: keys with values per head of 32 channels, and a row for the normaliser; so it
// does not grow with tokens squared. The feed-forward layer is a gated convolution.
Work sana(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  const double head = x.d / static_cast<double>(dims.heads);
  const Work linear_attention{4 * x.n * x.d * (head + 1), 0, 0, 4 * x.n * x.d, 0};
  const Work depthwise = conv(x.n, x.n, 1, 2 * x.f, 9);
  const Work block = projections(x.n, x.d) + linear_attention + matmul(x.n, x.d, x.d) +
                     matmul(x.t, x.d, 2 * x.d) + attend(x.n, x.t, x.d) + matmul(x.n, x.d, x.d) +
                     gated_mlp(x.n, x.d, x.f) + depthwise;
  return x.layers * block + x.patches() + x.text_in_twice() + scalar_embedding(x.d) +
         modulation(x.d, 6, x.d);
}

// Text and video in one stream, modulated apart; the time vector has 512 elements.
Work cogvideox(const Dimensions& dims, const Extent& e) {
  constexpr double kTime = 512;
  const Sizes x(dims, e);
  const Work block = projections(x.s(), x.d) + attend(x.s(), x.s(), x.d) + mlp(x.s(), x.d, x.f) +
                     2 * modulation(kTime, 6, x.d);
  return x.layers * block + x.patches() + x.text_in() + matmul(1, x.d, kTime) +
         matmul(1, kTime, kTime) + modulation(kTime, 2, x.d);
}

// Two streams of different widths; the last block writes no text.
Work mochi(const Dimensions& dims, const Extent& e) {
  const Sizes x(dims, e);
  const double w = x.pooled;  // width of the text stream
  const double wf = static_cast<double>(dims.pooled_width * 8 / 3);
  const Work both = projections(x.n, x.d) + gated_mlp(x.n, x.d, x.f) + modulation(x.d, 4, x.d) +
                    matmul(x.t, w, 3 * x.d) + attend(x.s(), x.s(), x.d);
  const Work text_out = matmul(x.t, x.d, w) + gated_mlp(x.t, w, wf) + matmul(1, x.d, 4 * w);
  const Work pooler = matmul(x.t + 1, x.text, 2 * x.text) + matmul(1, x.text, x.text) +
                      attend(1, x.t + 1, x.text) + matmul(1, x.text, x.d);
  return x.layers * both + (x.layers - 1) * text_out + matmul(1, x.d, w) + pooler +
         matmul(x.t, x.text, w) + x.patches() + scalar_embedding(x.d) + modulation(x.d, 2, x.d);
}

constexpr std::string_view kCounted =
    "products of the public model class, summed; checked against a count of the class on shapes";
constexpr std::string_view kNotCounted =
    "products of the public model class, summed; not counted by running the model";

}  // namespace

const std::vector<Denoiser>& denoisers() {
  static const std::vector<Denoiser> all = {
      {"flux", flux, kCounted},
      {"flux2", flux2, kCounted},
      {"qwen_image", qwen_image, kCounted},
      {"sd3", sd3, kCounted},
      {"sd1", unet_work, kCounted},
      {"sd2", unet_work, kNotCounted},
      {"sdxl", unet_work, kCounted},
      {"wan", wan, kCounted},
      {"hunyuan_video", hunyuan_video, kCounted},
      {"cogvideox", cogvideox, kCounted},
      {"auraflow", auraflow, kCounted},
      {"lumina2", lumina2, kCounted},
      {"pixart", cross_attention_model, kCounted},
      {"sana", sana, kCounted},
      {"ltx", cross_attention_model, kNotCounted},
      {"mochi", mochi, kNotCounted},
      {"z_image", z_image, kNotCounted},
      {"chroma", chroma, kNotCounted},
  };
  return all;
}

const Denoiser* find_denoiser(std::string_view architecture) noexcept {
  for (const Denoiser& denoiser : denoisers()) {
    if (denoiser.architecture == architecture) return &denoiser;
  }
  return nullptr;
}

}  // namespace genscope::inspect
