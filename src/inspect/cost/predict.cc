#include <genscope/predict.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inspect/cost/memory.h"
#include "inspect/cost/plan.h"

namespace genscope {
namespace {

using inspect::gib;
using inspect::Memory;
using inspect::Plan;
using inspect::Work;

constexpr double kTera = 1e12, kGiga = 1e9, kElement = 2;

double peak_flops(const Hardware& hardware, std::optional<Dtype> dtype) {
  const bool half = dtype == Dtype::f16 && hardware.fp16_tflops.has_value();
  return (half ? *hardware.fp16_tflops : hardware.bf16_tflops) * kTera;
}

Status check(const CostSpec& spec, const Workload& workload, const Hardware& hardware) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  if (!positive(hardware.bf16_tflops) || !positive(hardware.bandwidth_gbs)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: the peak ({} TFLOPS) and the bandwidth ({} GB/s) must be above 0",
                             hardware.name, hardware.bf16_tflops, hardware.bandwidth_gbs)};
  }
  if (workload.dtype && bits_per_element(*workload.dtype) <= 0) {
    return Error{ErrorCode::invalid_argument, "dtype unknown: name one, such as bf16 or q4_k"};
  }
  if (spec.parameters == 0 || spec.dimensions.width == 0) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("{}: parameters and width must be known", spec.title)};
  }
  return Done{};
}

// Forwards of a step that read the weights anew.
double forwards(const Plan& plan) {
  return plan.profile->guidance.batched ? 1 : static_cast<double>(*plan.workload.guidance_passes);
}

void fill_flops(const Plan& plan, const Work& work, Prediction& p) {
  const auto batch = static_cast<double>(plan.workload.batch);
  p.image_tokens = static_cast<std::uint64_t>(plan.extent.image());
  p.text_tokens = *plan.workload.text_tokens;
  p.latent_frames = static_cast<std::uint64_t>(plan.extent.frames);
  p.forward_flops = work.flops();
  p.attention_flops = work.attention;
  p.attention_share = work.attention / work.flops();
  p.step_flops = p.forward_flops * batch * static_cast<double>(*plan.workload.guidance_passes);
  p.decode_flops = batch * inspect::decode_work(plan.profile->vae, plan.clip).flops();
  p.total_flops = static_cast<double>(plan.workload.steps) * p.step_flops + p.decode_flops;
}

void fill_times(const Plan& plan, const Work& work, Prediction& p) {
  const Workload& w = plan.workload;
  const double peak = peak_flops(p.hardware, w.dtype);
  const double samples = static_cast<double>(w.batch) * static_cast<double>(*w.guidance_passes);
  const double link = p.hardware.link_gbs * kGiga;
  p.compute_seconds = p.step_flops / peak;
  p.memory_seconds = (forwards(plan) * p.denoiser_bytes + samples * work.moved * kElement) /
                     (p.hardware.bandwidth_gbs * kGiga);
  if (link > 0 && (w.offload == Offload::group || w.offload == Offload::sequential)) {
    p.link_seconds = forwards(plan) * p.denoiser_bytes / link;
  }
  if (link > 0 && w.offload == Offload::model) {
    p.load_seconds = (p.denoiser_bytes + static_cast<double>(p.spec.other_bytes)) / link;
  }
  p.step_seconds = std::max({p.compute_seconds, p.memory_seconds, p.link_seconds});
  p.bound = p.step_seconds == p.compute_seconds  ? "compute"
            : p.step_seconds == p.memory_seconds ? "memory"
                                                 : "link";
  p.decode_seconds = p.decode_flops / peak;
  p.total_seconds =
      static_cast<double>(w.steps) * p.step_seconds + p.decode_seconds + p.load_seconds;
  if (p.hardware.watts) p.joules = p.total_seconds * *p.hardware.watts;
}

void fill_memory(const Plan& plan, const Work& work, Prediction& p) {
  const Memory m = inspect::memory_of(p.spec, plan, work);
  p.denoiser_bytes = m.denoiser;
  p.weight_bytes = m.weights;
  p.activation_bytes = m.activations;
  p.math_attention_bytes = m.math_attention;
  p.vae_peak_bytes = m.vae_peak;
  p.peak_bytes = m.peak;
  if (p.hardware.memory_gib <= 0) return;
  const double limit = p.hardware.memory_gib * 1024 * 1024 * 1024;
  p.fits = m.peak <= limit;
  p.remedies = inspect::remedies_for(p.spec, plan, work, limit, p.hardware.link_gbs > 0);
}

void tell_sources(const Plan& plan, Prediction& p) {
  const Workload& w = p.workload;
  std::vector<std::string>& say = p.sources;
  say.push_back(fmt::format("model: {}; defaults of {}", p.spec.origin, plan.profile->title));
  say.insert(say.end(), plan.notes.begin(), plan.notes.end());
  say.push_back(fmt::format("FLOPs: {}", plan.denoiser->source));
  say.push_back(fmt::format("peak and bandwidth of {}: {}", p.hardware.name, p.hardware.source));
  say.push_back(fmt::format(
      "step time: the largest of FLOPs by peak, of weights and activations by bandwidth, and of "
      "offloaded weights by the link; {} guidance pass{} a step{}",
      *w.guidance_passes, *w.guidance_passes == 1 ? "" : "es",
      *w.guidance_passes == 1          ? ""
      : plan.profile->guidance.batched ? ", batched"
                                       : ", one after the other"));
  if (w.dtype && bits_per_element(*w.dtype) < 16) {
    say.push_back(fmt::format(
        "arithmetic in bf16: {} weights are taken as unpacked for it{}", name(*w.dtype),
        p.hardware.fp8_tflops
            ? fmt::format("; units for fp8 reach {} TFLOPS at most", *p.hardware.fp8_tflops)
            : ""));
  }
  say.push_back(w.dtype ? fmt::format("weights: {} parameters of {} bits", p.spec.parameters,
                                      bits_per_element(*w.dtype))
                        : "weights: bytes as stored in the file");
  say.push_back(
      "activations: 13 vectors of the model's width a token (12 to 14), of UNets "
      "ComfyUI's budget; with fused attention");
  const inspect::Vae& vae = inspect::vae(plan.profile->vae);
  say.push_back(fmt::format("VAE {}: memory by {}{}", vae.name, vae.peak_source,
                            vae.decode_known ? ", FLOPs summed over its convolutions" : ""));
  say.push_back("energy: the floor of the time at the board's power limit");
}

void tell_gaps(const Plan& plan, Prediction& p) {
  std::vector<std::string>& say = p.not_modelled;
  say = {"norms, activations, rotary embeddings, softmax and quantisation kernels",
         "gaps between kernels, the scheduler, the host",
         "text encoding, safety checks, image and video encoding",
         "clocks below boost, other users of the device and of the link",
         "memory of the driver's context, of the allocator's slack and of compiled graphs"};
  const inspect::Vae& vae = inspect::vae(plan.profile->vae);
  if (!vae.decode_known) say.push_back(fmt::format("FLOPs of the {} VAE", vae.name));
  if (p.vae_peak_bytes == 0) say.push_back(fmt::format("memory peak of the {} VAE", vae.name));
  if (p.spec.vae_bytes == 0) say.push_back(fmt::format("weights of the {} VAE", vae.name));
  if (p.workload.dtype && bits_per_element(*p.workload.dtype) < 16) {
    say.push_back("quantised text encoders and further experts: --dtype is of one denoiser");
  }
  if (p.workload.offload == Offload::sequential) {
    say.push_back("that sequential offload does not overlap: expect the sum of compute and link");
  }
  if (p.workload.offload != Offload::none && p.hardware.link_gbs <= 0) {
    say.push_back("the link: this device shares the host's memory, so offload saves nothing");
  }
}

}  // namespace

std::string_view name(Offload offload) noexcept {
  switch (offload) {
    case Offload::none:
      return "none";
    case Offload::model:
      return "model";
    case Offload::group:
      return "group";
    case Offload::sequential:
      return "sequential";
  }
  return "none";
}

Result<Prediction> predict(const CostSpec& spec, const Workload& workload,
                           const Hardware& hardware) {
  if (const Status fine = check(spec, workload, hardware); !fine) return fine.error();
  const Result<Plan> plan = inspect::make_plan(spec, workload);
  if (!plan) return plan.error();
  const Work work = plan->denoiser->work(spec.dimensions, plan->extent);
  Prediction p;
  p.spec = spec;
  p.workload = plan->workload;
  p.hardware = hardware;
  fill_flops(*plan, work, p);
  fill_memory(*plan, work, p);
  fill_times(*plan, work, p);
  tell_sources(*plan, p);
  tell_gaps(*plan, p);
  return p;
}

}  // namespace genscope
