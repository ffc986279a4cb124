// Activations are counted in vectors of the model's width per token, with a factor that was fitted
// to published peaks, not derived: what a framework keeps alive is its affair. Weights are exact.
// The peak is of the moment that takes most: the denoiser with its activations, the decoder with
// its tile, or the largest of the other models while it runs, depending on what is offloaded when.
#include "inspect/cost/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace genscope::inspect {
namespace {

constexpr double kElement = 2;  // bytes of an activation

bool is_unet(const CostSpec& spec) {
  return spec.architecture.starts_with("sd") && spec.architecture != "sd3";
}

double denoiser_bytes(const CostSpec& spec, const Workload& w) {
  if (!w.dtype && spec.weight_bytes > 0) return static_cast<double>(spec.weight_bytes);
  const double bits = bits_per_element(w.dtype.value_or(Dtype::bf16));
  return static_cast<double>(spec.parameters) * bits / 8;
}

// The denoisers that wait for their turn; --dtype is of them too.
double experts_bytes(const CostSpec& spec, const Workload& w) {
  if (!w.dtype && spec.expert_bytes > 0) return static_cast<double>(spec.expert_bytes);
  return static_cast<double>(spec.further_experts) * denoiser_bytes(spec, w);
}

// Samples that go through one forward.
double rows(const Plan& plan) {
  const auto batch = static_cast<double>(plan.workload.batch);
  return plan.profile->guidance.batched
             ? batch * static_cast<double>(*plan.workload.guidance_passes) /
                   static_cast<double>(plan.guidance_devices)
             : batch;
}

// Transformers hold about 13 vectors of the width for each token (12 to 14, with fused attention);
// UNets about 1 % of a MiB for each latent pixel and byte of an element, as ComfyUI budgets them.
double activation_bytes(const CostSpec& spec, const Plan& plan) {
  constexpr double kVectors = 13, kMebi = 1024 * 1024;
  const Extent& e = plan.extent;
  if (is_unet(spec)) {
    const double factor = spec.architecture == "sdxl" ? 0.8 : 1.0;
    return rows(plan) * e.image() * kElement * 0.01 * factor * kMebi;
  }
  return rows(plan) * kVectors * (e.image() + e.text) * static_cast<double>(spec.dimensions.width) *
         kElement;
}

// Scores of one layer, once, in 2 bytes; a softmax that is not in place doubles it.
double math_attention_bytes(const CostSpec& spec, const Plan& plan) {
  if (spec.architecture == "sana") return 0;  // its self-attention has no scores
  const Extent& e = plan.extent;
  const auto heads = static_cast<double>(spec.dimensions.heads);
  // SDXL attends from the second level on; only there are heads counted as well.
  const double tokens = spec.architecture == "sdxl" ? e.image() / 4 : e.image();
  const bool cross = is_unet(spec) || spec.architecture == "wan" || spec.architecture == "ltx" ||
                     spec.architecture == "pixart";
  const double s = cross ? tokens : tokens + e.text;
  return rows(plan) * (spec.architecture == "sdxl" ? 10 : heads) * s * s * kElement;
}

// What of the denoiser is on the device: of groups of blocks the present and the next one; of
// single layers the largest.
double resident_share(const CostSpec& spec, const Work& work, Offload offload) {
  const Dimensions& d = spec.dimensions;
  const auto blocks =
      is_unet(spec) ? 0 : static_cast<double>(d.layers + d.single_layers + 2 * d.refiner_layers);
  constexpr double kUnetGroups = 0.5;  // its levels differ: the two largest hold half
  switch (offload) {
    case Offload::none:
    case Offload::model:
      return 1;
    case Offload::group:
      return blocks > 0 ? std::min(1.0, 2 / blocks) : kUnetGroups;
    case Offload::sequential:
      return work.weights > 0 ? work.largest / work.weights : 1;
  }
  return 1;
}

double vae_bytes_at_peak(const Plan& plan, bool tiled) {
  constexpr double kTile = 512;
  Clip clip = plan.clip;
  if (tiled) {
    clip.width = std::min(clip.width, kTile);
    clip.height = std::min(clip.height, kTile);
  }
  return static_cast<double>(plan.workload.batch) * decode_peak_bytes(plan.profile->vae, clip);
}

}  // namespace

Memory memory_of(const CostSpec& spec, const Plan& plan, const Work& work, bool tiled) {
  const Offload offload = plan.workload.offload;
  Memory m;
  m.denoiser = denoiser_bytes(spec, plan.workload);
  const auto shares = static_cast<double>(plan.token_devices);
  m.experts = experts_bytes(spec, plan.workload);
  m.activations = activation_bytes(spec, plan) / shares;
  m.math_attention = math_attention_bytes(spec, plan) / shares;
  m.vae_peak = vae_bytes_at_peak(plan, tiled);
  const double share = m.denoiser * resident_share(spec, work, offload);
  const auto others = static_cast<double>(spec.other_bytes);
  const auto largest_other = static_cast<double>(spec.largest_other_bytes);
  const auto vae = static_cast<double>(spec.vae_bytes);
  switch (offload) {
    case Offload::none:
      m.weights = m.denoiser + m.experts + others;
      m.peak = m.weights + std::max(m.activations, m.vae_peak);
      break;
    case Offload::model:
      m.weights = std::max(m.denoiser, largest_other);
      m.peak = std::max({m.denoiser + m.activations, vae + m.vae_peak, largest_other});
      break;
    case Offload::group:
    case Offload::sequential:
      m.weights = std::max(share, vae);
      m.peak = std::max(share + m.activations, vae + m.vae_peak);
      break;
  }
  return m;
}

std::string gib(double bytes) {
  const double value = bytes / (1024.0 * 1024 * 1024);
  const int digits = value < 0.995 ? 2 : value < 99.5 ? 1 : 0;
  return fmt::format("{:.{}f} GiB", value, digits);
}

}  // namespace genscope::inspect
