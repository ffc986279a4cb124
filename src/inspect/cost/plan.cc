// Defaults are filled in first, then each field is brought to what the model takes: sides are
// multiples of the VAE's scale and the patches, frames are one and a multiple of its temporal
// factor. What does not fit is refused with its two neighbours, unless it was recorded: then it is
// rounded as that pipeline does, with a note. The limits keep every product below 2^63.
#include "inspect/cost/plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace genscope::inspect {
namespace {

// Far above what any model takes, and low enough that no sum below leaves 2^63.
constexpr std::uint64_t kMaxSide = 16'384;
constexpr std::uint64_t kMaxFrames = 10'000;
constexpr std::uint64_t kMaxSteps = 10'000;
constexpr std::uint64_t kMaxBatch = 4'096;
constexpr std::uint64_t kMaxText = 131'072;
constexpr std::uint64_t kMaxPasses = 64;
constexpr std::uint64_t kMaxDevices = 1'024;

Error refuse(const std::string& message) { return {ErrorCode::invalid_argument, message}; }

Status check_limits(const Workload& w) {
  struct Limit {
    const char* field;
    std::uint64_t value, highest;
  };
  for (const Limit& limit : {Limit{"frames", w.frames, kMaxFrames},
                             Limit{"steps", w.steps, kMaxSteps}, Limit{"batch", w.batch, kMaxBatch},
                             Limit{"text-tokens", w.text_tokens.value_or(0), kMaxText},
                             Limit{"guidance-passes", w.guidance_passes.value_or(1), kMaxPasses},
                             Limit{"gpus", w.devices, kMaxDevices}}) {
    if (limit.value <= limit.highest) continue;
    return refuse(fmt::format("{} {}: at most {}", limit.field, limit.value, limit.highest));
  }
  if (w.width > kMaxSide || w.height > kMaxSide) {
    return refuse(
        fmt::format("size {}x{}: a side is at most {} pixels", w.width, w.height, kMaxSide));
  }
  if (w.batch == 0) return refuse("batch 0: at least 1");
  if (w.devices == 0) return refuse("gpus 0: at least 1");
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

// "992 or 1008"
std::string neighbours(std::uint64_t value, std::uint64_t step, std::uint64_t first) {
  const std::uint64_t below = value < first ? first : (value - first) / step * step + first;
  return below == value ? fmt::format("{}", value) : fmt::format("{} or {}", below, below + step);
}

// Recorded sizes go down to whole patches: what the pipelines do that do not refuse.
Status check_size(const Dimensions& dims, const Vae& vae, Plan& plan) {
  Workload& w = plan.workload;
  const std::uint64_t step = vae.scale * std::max<std::uint64_t>(dims.patch, 1);
  const std::uint64_t width = w.width / step * step;
  const std::uint64_t height = w.height / step * step;
  if (width == 0 || height == 0) {
    return refuse(fmt::format("size {}x{}: a side is at least {} pixels with this model", w.width,
                              w.height, step));
  }
  if (width != w.width || height != w.height) {
    if (!w.round) {
      return refuse(fmt::format(
          "size {}x{}: {} takes sides that are multiples of {} (its VAE and patches); take a width "
          "of {} and a height of {}",
          w.width, w.height, plan.profile->title, step, neighbours(w.width, step, step),
          neighbours(w.height, step, step)));
    }
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

// After the first, frames come in groups of the VAE's temporal factor. Of recorded runs Wan's
// pipeline goes to the next group, the others drop what is over.
Status check_frames(const Profile& profile, const Vae& vae, Plan& plan) {
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
    if (!w.round) {
      return refuse(fmt::format("frames {}: {} takes one and a multiple of {}; take {}", w.frames,
                                profile.title, t, neighbours(w.frames, t, 1)));
    }
    plan.notes.push_back(
        fmt::format("frames {} taken as {}: one and a multiple of {}", w.frames, frames, t));
  }
  w.frames = frames;
  plan.extent.frames = plan.clip.latent_frames = static_cast<double>(groups + 1);
  return Done{};
}

// Two guidance passes go to two halves of the devices; within each the tokens are shared, so that
// every device has some of the heads (Ulysses).
Status share(const CostSpec& spec, Plan& plan) {
  const std::uint64_t devices = plan.workload.devices;
  if (devices == 1) return Done{};
  const bool two = *plan.workload.guidance_passes == 2 && devices % 2 == 0;
  plan.guidance_devices = two ? 2 : 1;
  plan.token_devices = devices / plan.guidance_devices;
  if (plan.token_devices == 1) return Done{};
  const bool unet = spec.architecture.starts_with("sd") && spec.architecture != "sd3";
  if (unet) {
    return refuse(
        fmt::format("gpus {}: a UNet's tokens are not shared; at most {} device{}, one for each "
                    "guidance pass",
                    devices, *plan.workload.guidance_passes == 2 ? 2 : 1,
                    *plan.workload.guidance_passes == 2 ? "s" : ""));
  }
  const std::uint64_t heads = spec.dimensions.heads;
  if (heads % plan.token_devices != 0) {
    return refuse(fmt::format("gpus {}: {} attention heads do not divide among {} devices", devices,
                              heads, plan.token_devices));
  }
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
  if (const Status fine = check_size(spec.dimensions, autoencoder, plan); !fine) {
    return fine.error();
  }
  if (const Status fine = check_frames(*plan.profile, autoencoder, plan); !fine) {
    return fine.error();
  }
  plan.extent.text = static_cast<double>(*plan.workload.text_tokens);
  if (const Status fine = share(spec, plan); !fine) return fine.error();
  return plan;
}

}  // namespace genscope::inspect
