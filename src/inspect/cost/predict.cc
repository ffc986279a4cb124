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

// The rate of a device in an arithmetic; nothing if it has no units for it.
std::optional<double> peak_tflops(const Hardware& hardware, Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::bf16:
      return hardware.bf16_tflops;
    case Arithmetic::f16:
      return hardware.fp16_tflops.value_or(hardware.bf16_tflops);
    case Arithmetic::fp8:
      return hardware.fp8_tflops;
    case Arithmetic::int8:
      return hardware.int8_tops;
    case Arithmetic::w4a4:
      return hardware.four_bit_tflops;
  }
  return hardware.bf16_tflops;
}

// The fastest arithmetic that weights of this kind may be used in, so that the floor is one.
// Weights of GGUF and int8 are unpacked for products in 16 bits.
Arithmetic allowed_by(const CostSpec& spec, const Workload& w) {
  if (w.dtype) {
    switch (*w.dtype) {
      case Dtype::f16:
        return Arithmetic::f16;
      case Dtype::f8_e4m3:
      case Dtype::f8_e5m2:
      case Dtype::f8_e4m3fnuz:
      case Dtype::f8_e5m2fnuz:
        return Arithmetic::fp8;
      case Dtype::f4:
      case Dtype::mxfp4:
      case Dtype::nvfp4:
        return Arithmetic::w4a4;
      default:
        return Arithmetic::bf16;
    }
  }
  const std::string& stored = spec.quantisation;
  if (stored == "svdquant" || stored == "nvfp4") return Arithmetic::w4a4;
  if (stored.find("fp8") != std::string::npos) return Arithmetic::fp8;
  return Arithmetic::bf16;
}

// As asked for, else as allowed where the device has the units.
Result<Arithmetic> arithmetic_of(const CostSpec& spec, const Workload& w,
                                 const Hardware& hardware) {
  if (w.arithmetic) {
    if (peak_tflops(hardware, *w.arithmetic)) return *w.arithmetic;
    return Error{ErrorCode::invalid_argument,
                 fmt::format("arithmetic {}: {} has no such units, or their rate is not known; "
                             "leave it away, or take another device",
                             name(*w.arithmetic), hardware.name)};
  }
  const Arithmetic allowed = allowed_by(spec, w);
  return peak_tflops(hardware, allowed) ? allowed : Arithmetic::bf16;
}

// Published runs by the share of the dense bf16 peak that they reach, end to end.
struct PublishedBand {
  double low, high;
  const char* source;
};
PublishedBand published_band(const Hardware& hardware) {
  constexpr double kFast = 200;  // TFLOPS
  if (hardware.bf16_tflops > kFast) {
    return {0.26, 0.60,
            "FLUX.1 on H100 (black-forest-labs/flux#147) and H200 (sgl-project/sglang#19673)"};
  }
  return {0.43, 0.73,
          "Qwen-Image on RTX 4090 (leejet/stable-diffusion.cpp#1228), Wan2.1 on RTX 4090 (its "
          "README), FLUX.1 on L20 (README of vipshop/cache-dit)"};
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
  return plan.profile->guidance.batched ? 1
                                        : static_cast<double>(*plan.workload.guidance_passes) /
                                              static_cast<double>(plan.guidance_devices);
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
  const bool half = p.arithmetic == Arithmetic::f16 || w.dtype == Dtype::f16;
  const double plain = *peak_tflops(p.hardware, half ? Arithmetic::f16 : Arithmetic::bf16) * kTera;
  const double peak = p.peak_tflops * kTera;
  const double samples = static_cast<double>(w.batch) * static_cast<double>(*w.guidance_passes);
  const auto devices = static_cast<double>(w.devices);
  const double link = p.hardware.link_gbs * kGiga;
  p.compute_seconds = samples * (work.linear / peak + work.attention / plain) / devices;
  p.memory_seconds =
      (forwards(plan) * p.denoiser_bytes + samples * work.moved * kElement / devices) /
      (p.hardware.bandwidth_gbs * kGiga);
  if (link > 0 && (w.offload == Offload::group || w.offload == Offload::sequential)) {
    p.link_seconds = forwards(plan) * p.denoiser_bytes / link;
  }
  if (link > 0 && w.offload == Offload::model) {
    p.load_seconds =
        (p.denoiser_bytes + p.expert_bytes + static_cast<double>(p.spec.other_bytes)) / link;
  }
  p.step_seconds = std::max({p.compute_seconds, p.memory_seconds, p.link_seconds});
  p.bound = p.step_seconds == p.compute_seconds  ? "compute"
            : p.step_seconds == p.memory_seconds ? "memory"
                                                 : "link";
  p.decode_seconds = p.decode_flops / plain;
  p.total_seconds =
      static_cast<double>(w.steps) * p.step_seconds + p.decode_seconds + p.load_seconds;
  if (p.hardware.watts) p.joules = p.total_seconds * *p.hardware.watts * devices;
}

// Published runs are of one device in bf16: of others nothing is claimed.
void fill_expected(const Plan& plan, Prediction& p) {
  const bool plain = p.arithmetic == Arithmetic::bf16 || p.arithmetic == Arithmetic::f16;
  if (!plain || p.workload.devices > 1 || p.hardware.measured) return;
  const PublishedBand band = published_band(p.hardware);
  Expected e;
  e.mfu_low = band.low;
  e.mfu_high = band.high;
  e.source = band.source;
  e.step_low = std::max(p.step_seconds, p.compute_seconds / band.high);
  e.step_high = std::max(p.step_seconds, p.compute_seconds / band.low);
  const auto steps = static_cast<double>(plan.workload.steps);
  const double rest = p.decode_seconds + p.load_seconds;
  e.total_low = steps * e.step_low + rest;
  e.total_high = steps * e.step_high + rest;
  p.expected = std::move(e);
}

// Shared tokens: queries, keys and values go to the device that has their heads, and the result
// comes back.
void fill_sharing(const Plan& plan, Prediction& p) {
  p.guidance_devices = plan.guidance_devices;
  p.token_devices = plan.token_devices;
  if (plan.token_devices == 1) return;
  const Dimensions& d = p.spec.dimensions;
  const auto shares = static_cast<double>(plan.token_devices);
  const double tokens = (plan.extent.image() + plan.extent.text) / shares;
  const auto layers = static_cast<double>(d.layers + d.single_layers);
  const double samples = static_cast<double>(plan.workload.batch) *
                         static_cast<double>(*plan.workload.guidance_passes) /
                         static_cast<double>(plan.guidance_devices);
  constexpr double kTensors = 4;
  p.exchange_bytes = samples * layers * kTensors * tokens * static_cast<double>(d.width) *
                     kElement * (shares - 1) / shares;
}

void fill_memory(const Plan& plan, const Work& work, Prediction& p) {
  const Memory m = inspect::memory_of(p.spec, plan, work);
  p.denoiser_bytes = m.denoiser;
  p.expert_bytes = m.experts;
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
  const bool plain = p.arithmetic == Arithmetic::bf16 || p.arithmetic == Arithmetic::f16;
  say.push_back(fmt::format(
      "arithmetic: products with weights in {} at {} TFLOPS, attention and decoding in 16 bits{}",
      name(p.arithmetic), p.peak_tflops,
      w.arithmetic ? ", as asked for"
      : plain      ? ""
                   : ", which such weights allow; --arithmetic bf16 if they are only stored so"));
  if (p.expected) {
    say.push_back(
        fmt::format("expected: published runs reach {:.0f} to {:.0f} % of the bf16 peak: {}",
                    100 * p.expected->mfu_low, 100 * p.expected->mfu_high, p.expected->source));
  }
  if (w.devices > 1) {
    say.push_back(fmt::format(
        "{} devices: {} for the guidance passes, by {} that share the tokens (context parallel); "
        "each has all weights",
        w.devices, p.guidance_devices, p.token_devices));
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
    say.push_back("quantised text encoders: --dtype is of the denoisers");
  }
  if (p.arithmetic == Arithmetic::w4a4) {
    say.push_back("the low-rank branch in 16 bits that goes with 4-bit arithmetic (SVDQuant)");
  }
  if (p.exchange_bytes > 0) {
    say.push_back(fmt::format("the traffic between the devices: each sends {} a step",
                              gib(p.exchange_bytes)));
  }
  if (p.workload.devices > 1) say.push_back("decoding on several devices: it is on one");
  if (!p.expected) {
    say.push_back("what to expect: published figures are of one GPU in bf16");
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

std::string_view name(Arithmetic arithmetic) noexcept {
  switch (arithmetic) {
    case Arithmetic::bf16:
      return "bf16";
    case Arithmetic::f16:
      return "f16";
    case Arithmetic::fp8:
      return "fp8";
    case Arithmetic::int8:
      return "int8";
    case Arithmetic::w4a4:
      return "w4a4";
  }
  return "bf16";
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
  const Result<Arithmetic> arithmetic = arithmetic_of(spec, plan->workload, hardware);
  if (!arithmetic) return arithmetic.error();
  p.arithmetic = *arithmetic;
  p.peak_tflops = *peak_tflops(hardware, p.arithmetic);
  fill_flops(*plan, work, p);
  fill_memory(*plan, work, p);
  fill_times(*plan, work, p);
  fill_expected(*plan, p);
  fill_sharing(*plan, p);
  tell_sources(*plan, p);
  tell_gaps(*plan, p);
  return p;
}

}  // namespace genscope
