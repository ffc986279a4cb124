#include "inspect/cost/vae.h"

#include <algorithm>
#include <array>

#include "inspect/cost/blocks.h"

namespace genscope::inspect {
namespace {

constexpr std::string_view kComfy = "budget of ComfyUI's loader for this decoder";
constexpr std::string_view kNoFigure = "no public figure";

constexpr std::array kVaes{
    Vae{VaeKind::kl4, "AutoencoderKL, 4 channels", 8, 0, 83'653'863, true, kComfy},
    Vae{VaeKind::kl16, "AutoencoderKL, 16 channels", 8, 0, 83'819'683, true, kComfy},
    Vae{VaeKind::kl32, "AutoencoderKL, 32 channels", 8, 0, 0, true, kComfy},
    Vae{VaeKind::wan, "Wan 2.1 / Qwen-Image", 8, 4, 126'892'531, true, kComfy},
    Vae{VaeKind::wan22, "Wan 2.2", 16, 4, 0, false, kComfy},
    Vae{VaeKind::hunyuan, "HunyuanVideo", 8, 4, 246'478'803, false, kComfy},
    Vae{VaeKind::cogvideox, "CogVideoX", 8, 4, 215'583'907, false, kNoFigure},
    Vae{VaeKind::ltx, "LTX", 32, 8, 0, false, kComfy},
    Vae{VaeKind::mochi, "Mochi", 8, 6, 0, false, kComfy},
    Vae{VaeKind::dc_ae, "DC-AE f32c32", 32, 0, 362'893'923, false, kComfy},
};

constexpr std::array<double, 4> kMultiples = {4, 4, 2, 1};  // channels of a level, deepest first

Work residual(double pixels, double in, double out, double taps) {
  Work work = conv(pixels, pixels, in, out, taps) + conv(pixels, pixels, out, out, taps);
  if (in != out) work += matmul(pixels, in, out);
  return work;
}

// Four levels of three residual blocks, and one attention at the deepest.
Work kl_decode(const Clip& clip, double latent_channels, bool quant_conv) {
  constexpr double kBase = 128, kTaps = 9;
  double n = clip.width / 8 * (clip.height / 8);
  double channels = kBase * kMultiples[0];
  Work work = conv(n, n, latent_channels, channels, kTaps) +
              2 * residual(n, channels, channels, kTaps) + projections(n, channels) +
              attend(n, n, channels);
  if (quant_conv) work += matmul(n, latent_channels, latent_channels);
  for (std::size_t level = 0; level < kMultiples.size(); ++level) {
    const double out = kBase * kMultiples[level];
    for (int block = 0; block < 3; ++block) {
      work += residual(n, channels, out, kTaps);
      channels = out;
    }
    if (level + 1 == kMultiples.size()) break;
    work += conv(n, 4 * n, channels, channels, kTaps);
    n *= 4;
  }
  return work + conv(n, n, channels, 3, kTaps);
}

// As above with kernels of 3x3x3; the first two steps up double all frames but the first, every
// step up halves the channels.
Work wan_decode(const Clip& clip) {
  constexpr double kBase = 96, kLatent = 16, kTaps = 27, kPlane = 9, kColumn = 3;
  constexpr std::size_t kTemporalSteps = 2;
  double plane = clip.width / 8 * (clip.height / 8);
  double frames = clip.latent_frames;
  double channels = kBase * kMultiples[0];
  Work work = matmul(frames * plane, kLatent, kLatent) +
              conv(frames * plane, frames * plane, kLatent, channels, kTaps) +
              2 * residual(frames * plane, channels, channels, kTaps) +
              projections(frames * plane, channels) + frames * attend(plane, plane, channels);
  for (std::size_t level = 0; level < kMultiples.size(); ++level) {
    const double out = kBase * kMultiples[level];
    for (int block = 0; block < 3; ++block) {
      work += residual(frames * plane, channels, out, kTaps);
      channels = out;
    }
    if (level + 1 == kMultiples.size()) break;
    if (level < kTemporalSteps) {
      const double later = (frames - 1) * plane;
      work += conv(later, later, channels, 2 * channels, kColumn);
      frames = 2 * frames - 1;
    }
    work += conv(frames * plane, 4 * frames * plane, channels, channels / 2, kPlane);
    plane *= 4;
    channels /= 2;
  }
  return work + conv(frames * plane, frames * plane, channels, 3, kTaps);
}

}  // namespace

const Vae& vae(VaeKind kind) noexcept { return kVaes[static_cast<std::size_t>(kind)]; }

Work decode_work(VaeKind kind, const Clip& clip) {
  switch (kind) {
    case VaeKind::kl4:
      return kl_decode(clip, 4, true);
    case VaeKind::kl16:
      return kl_decode(clip, 16, false);
    case VaeKind::kl32:
      return kl_decode(clip, 32, true);
    case VaeKind::wan:
      return wan_decode(clip);
    default:
      return {};
  }
}

double decode_peak_bytes(VaeKind kind, const Clip& clip) noexcept {
  const double elements = clip.width * clip.height;
  const double frames = clip.latent_frames;
  constexpr double kBytes = 2;
  switch (kind) {
    case VaeKind::kl4:
    case VaeKind::kl16:
    case VaeKind::kl32:
      return 2178 * elements * kBytes;
    case VaeKind::wan:
      return (frames <= 4 ? 2200 : 7000) * elements * kBytes;
    case VaeKind::wan22:
      return 8000 * elements * kBytes;
    case VaeKind::hunyuan:
      return 2800 * std::min(8.0, (frames - 1) * 4 + 1) * elements * kBytes;
    case VaeKind::ltx:
      return 450 * frames * elements * kBytes;
    case VaeKind::mochi:
      return 6000 * frames * elements * kBytes;
    case VaeKind::dc_ae:
      return 700 * elements * kBytes;
    case VaeKind::cogvideox:
      return 0;
  }
  return 0;
}

}  // namespace genscope::inspect
