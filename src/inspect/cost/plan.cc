#include "inspect/cost/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace genscope::inspect {
namespace {

// Far above what any model takes, and low enough that no sum below leaves 2^63.
constexpr std::uint64_t kMaxSide = 65'536;
constexpr std::uint64_t kMaxFrames = 100'000;
constexpr std::uint64_t kMaxSteps = 1'000'000;
constexpr std::uint64_t kMaxBatch = 65'536;
constexpr std::uint64_t kMaxText = 1'000'000;
constexpr std::uint64_t kMaxPasses = 64;

Error refuse(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

Status check_limits(const Workload& w) {
  struct Limit {
    const char* field;
    std::uint64_t value, highest;
  };
  for (const Limit& limit : {Limit{"frames", w.frames, kMaxFrames},
                             Limit{"steps", w.steps, kMaxSteps}, Limit{"batch", w.batch, kMaxBatch},
                             Limit{"text-tokens", w.text_tokens.value_or(0), kMaxText},
                             Limit{"guidance-passes", w.guidance_passes.value_or(1), kMaxPasses}}) {
    if (limit.value <= limit.highest) continue;
    return refuse(fmt::format("{} {}: at most {}", limit.field, limit.value, limit.highest));
  }
  if (w.width > kMaxSide || w.height > kMaxSide) {
    return refuse(
        fmt::format("size {}x{}: a side is at most {} pixels", w.width, w.height, kMaxSide));
  }
  if (w.batch == 0) return refuse("batch 0: at least 1");
  if (w.guidance_passes == 0) return refuse("guidance-passes 0: at least 1");
  return Done{};
}

void fill_defaults(const Profile& profile, const CostSpec& spec, Plan& plan) {
  Workload& w = plan.workload;
  if (w.width == 0 && w.height == 0) {
    w.width = profile.usual.width;
    w.height = profile.usual.height;
  }
  if (w.height == 0) w.height = w.width;
  if (w.width == 0) w.width = w.height;
  if (w.frames == 0) w.frames = profile.usual.frames;
  if (w.steps == 0) w.steps = profile.usual.steps;
  if (!w.text_tokens) {
    w.text_tokens = profile.text.tokens;
    plan.notes.push_back(profile.text.padded
                             ? fmt::format("text: {} tokens, to which the pipeline of {} pads",
                                           profile.text.tokens, profile.title)
                             : fmt::format("text: {} tokens, a guess at a prompt; {} does not pad",
                                           profile.text.tokens, profile.title));
  }
  if (!w.guidance_passes) w.guidance_passes = profile.guidance.passes;
  if (!w.dtype && spec.weight_bytes == 0) w.dtype = Dtype::bf16;
}

// Down to whole patches: what the pipelines do that do not refuse.
Status round_size(const Dimensions& dims, const Vae& vae, Plan& plan) {
  Workload& w = plan.workload;
  const std::uint64_t step = vae.scale * std::max<std::uint64_t>(dims.patch, 1);
  const std::uint64_t width = w.width / step * step;
  const std::uint64_t height = w.height / step * step;
  if (width == 0 || height == 0) {
    return refuse(fmt::format("size {}x{}: a side is at least {} pixels with this model", w.width,
                              w.height, step));
  }
  if (width != w.width || height != w.height) {
    plan.notes.push_back(fmt::format("size {}x{} taken as {}x{}: a patch is {} pixels wide",
                                     w.width, w.height, width, height, step));
  }
  w.width = width;
  w.height = height;
  plan.extent.width = static_cast<double>(width / step);
  plan.extent.height = static_cast<double>(height / step);
  plan.clip.width = static_cast<double>(width);
  plan.clip.height = static_cast<double>(height);
  return Done{};
}

// After the first, frames come in groups of the VAE's temporal factor. Wan's pipeline goes to the
// next group, the others drop what is over.
Status round_frames(const Profile& profile, const Vae& vae, Plan& plan) {
  Workload& w = plan.workload;
  if (profile.usual.frames == 1) {
    if (w.frames == 1) return Done{};
    return refuse(
        fmt::format("frames {}: {} makes images; leave it away", w.frames, profile.title));
  }
  const std::uint64_t t = vae.temporal;
  const std::uint64_t groups =
      profile.architecture == "wan" && w.frames % t != 1 ? w.frames / t : (w.frames - 1) / t;
  const std::uint64_t frames = groups * t + 1;
  if (frames != w.frames) {
    plan.notes.push_back(
        fmt::format("frames {} taken as {}: one and a multiple of {}", w.frames, frames, t));
  }
  w.frames = frames;
  plan.extent.frames = plan.clip.latent_frames = static_cast<double>(groups + 1);
  return Done{};
}

}  // namespace

Result<Plan> make_plan(const CostSpec& spec, const Workload& workload) {
  if (const Status fine = check_limits(workload); !fine) return fine.error();
  Plan plan;
  plan.denoiser = find_denoiser(spec.architecture);
  plan.profile = spec.profile.empty() ? nearest_profile(spec.architecture, spec.parameters)
                                      : find_profile(spec.profile);
  if (plan.denoiser == nullptr || plan.profile == nullptr) {
    return Error{ErrorCode::unsupported,
                 fmt::format("no cost formula for architecture '{}'", spec.architecture)};
  }
  plan.workload = workload;
  fill_defaults(*plan.profile, spec, plan);
  const Vae& autoencoder = vae(plan.profile->vae);
  if (const Status fine = round_size(spec.dimensions, autoencoder, plan); !fine) {
    return fine.error();
  }
  if (const Status fine = round_frames(*plan.profile, autoencoder, plan); !fine) {
    return fine.error();
  }
  plan.extent.text = static_cast<double>(*plan.workload.text_tokens);
  return plan;
}

}  // namespace genscope::inspect
