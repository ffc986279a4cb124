// Each setting comes with its reason and the source of that. The model decides most: its cost at
// its usual size gives steps and size, where its peak does not fit the cheapest way of offloading
// that does is taken (placement.h), and what streams weights is not worth compiling. Without a
// model the family alone is left, and keys that only a model could tell are not among the settings.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <genscope/advise.h>
#include <genscope/inspect.h>
#include <genscope/monitor.h>

#include "monitor/generation/model_name.h"
#include "monitor/settings/guidance.h"
#include "monitor/settings/placement.h"

namespace genscope {
namespace {

// "rule ATT-SLICE (huggingface/diffusers#4487)"
std::string rule(std::string_view id) {
  for (const Rule& r : built_in_rules()) {
    if (r.id == id) return fmt::format("rule {} ({})", id, r.citation);
  }
  return fmt::format("rule {}", id);
}

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1024.0 * 1024 * 1024)); }

// What is known before anything is recommended.
struct Question {
  std::string family;  // "mmdit"; "" if not known
  std::optional<CostSpec> spec;
  const Hardware* gpu = nullptr;
};

class Recommendation {
 public:
  Recommendation(const Question& question, PipelineSettings& out) : q_(question), out_(out) {}

  void add(std::string key, std::string value, std::string reason, std::string source) {
    out_.settings.push_back(
        {std::move(key), std::move(value), std::move(reason), std::move(source)});
  }
  void warn(std::string advice, std::string why, std::string source) {
    out_.warnings.push_back({std::move(advice), std::move(why), std::move(source)});
  }

  void guidance();
  void precision();
  void attention();
  void compile(bool streamed);
  Status with_model();
  void void_advice();

 private:
  bool transformer() const { return q_.family == "mmdit" || q_.family == "dit"; }
  void place(const monitor::Placement& placement, const Workload& usual);

  const Question& q_;
  PipelineSettings& out_;
};

void Recommendation::guidance() {
  if (!q_.spec) {
    if (q_.family == "unet") {
      add("guidance_scale", "5.0", "UNets are guided by two passes, batched into one forward.",
          "diffusers, default of StableDiffusionXLPipeline");
    } else if (q_.family == "mmdit") {
      add("true_cfg_scale", "4.0",
          "Qwen-Image's key; other MMDiTs (Flux, SD3) take guidance_scale: name the model to know.",
          "diffusers, default of QwenImagePipeline");
    }
    return;
  }
  const monitor::Guidance* const usual = monitor::find_guidance(q_.spec->architecture);
  if (usual == nullptr) return;
  const Result<Prediction> p = predict(*q_.spec, {}, hardware_table().front());
  const bool one_pass = p && p->workload.guidance_passes == 1;
  const std::string source = fmt::format("diffusers, default of {}", usual->pipeline);
  if (one_pass && !q_.spec->dimensions.guidance_embedding) {
    add(std::string(usual->key), "1.0",
        "The model is distilled: one pass a step, and guidance above 1 would add a second.",
        rule("CFG-2X"));
  } else if (one_pass) {
    add(std::string(usual->key), std::string(usual->scale),
        "Guidance is an input of this network: one pass a step, whatever the scale.", source);
  } else {
    add(std::string(usual->key), std::string(usual->scale),
        "Every value above 1 runs the denoiser twice a step.", source);
  }
}

void Recommendation::precision() {
  if (q_.gpu == nullptr) {
    add("torch_dtype", "float32", "Most CPUs have no fast half precision.", "no GPU was given");
  } else if (q_.gpu->fp16_tflops && *q_.gpu->fp16_tflops > q_.gpu->bf16_tflops) {
    add("torch_dtype", "float16",
        fmt::format("{} has no bf16 units: {} TFLOPS in fp16 against {}. A T5 text encoder must "
                    "stay out of fp16.",
                    q_.gpu->name, *q_.gpu->fp16_tflops, q_.gpu->bf16_tflops),
        rule("DT-BF16-OLD"));
  } else {
    add("torch_dtype", "bfloat16",
        "As fast as fp16 here, and does not overflow where fp16 does (T5, Qwen).",
        rule("TE-FP16-T5"));
  }
}

void Recommendation::attention() {
  add("attention", "sdpa", "Fused, exact, and the default; no score matrix is stored.",
      rule("ATT-MATH"));
  if (q_.family == "mmdit") {
    add("attention_processor", "default",
        "Joint attention needs the model's own processor; AttnProcessor2_0 is for UNets.",
        rule("ATT-PROC"));
  } else if (q_.family == "unet") {
    add("attention_processor", "AttnProcessor2_0",
        "The fused one for UNets; with torch 2 it is the default, so there is nothing to set.",
        rule("ATT-PROC-UNET"));
  }
}

void Recommendation::compile(bool streamed) {
  if (q_.gpu == nullptr) return;
  if (streamed) {
    add("compile", "none",
        "Weights that come over the link at each step bound it, not the kernels.",
        "cost model: the link bounds a step");
  } else if (transformer()) {
    add("compile", "compile_repeated_blocks",
        "Pays off from some 50 steps of one shape; block by block it compiles in seconds.",
        rule("COMPILE-OFF"));
  } else if (q_.family == "unet") {
    add("compile", "max-autotune", "Pays off from some 50 steps of one shape.",
        rule("COMPILE-OFF"));
  }
}

void Recommendation::place(const monitor::Placement& at, const Workload& usual) {
  const std::string source = "cost model: docs/predict.md";
  const std::string room = fmt::format("{} of {}", gib(at.limit_bytes), q_.gpu->name);
  if (at.offload == Offload::none) {
    add("offload", "none", fmt::format("{} fit in {}.", gib(at.peak_bytes), room), source);
  } else {
    add("offload", std::string(name(at.offload)),
        fmt::format("All at once takes {}, more than {}; so it takes {}{}.",
                    gib(at.plain_peak_bytes), room, gib(at.peak_bytes),
                    at.fits ? "" : ", which is still too much"),
        source);
  }
  add("vae_tiling", at.tiled ? "true" : "false",
      at.tiled ? "The decoder's peak does not fit otherwise; a decode takes 20 to 30 % longer."
               : "The whole picture fits, and tiles cost time.",
      rule(at.tiled ? "VAE-OOM" : "VAE-TILE-NEEDLESS"));
  const bool shrunk = at.width < usual.width;
  for (const auto& [key, value] : {std::pair("width", at.width), std::pair("height", at.height)}) {
    add(key, fmt::format("{}", value),
        shrunk ? "Smaller than the model was made for, to fit." : "What the model was made for.",
        shrunk ? source : "cost model: table of known models");
  }
}

Status Recommendation::with_model() {
  const Hardware& any = q_.gpu != nullptr ? *q_.gpu : hardware_table().front();
  Result<Prediction> plain = predict(*q_.spec, {}, any);
  if (!plain) return plain.error();
  const Workload usual = plain->workload;
  add("num_inference_steps", fmt::format("{}", usual.steps), "What its authors recommend.",
      "cost model: table of known models");
  if (q_.gpu == nullptr) {
    add("width", fmt::format("{}", usual.width), "What the model was made for.",
        "cost model: table of known models");
    add("height", fmt::format("{}", usual.height), "What the model was made for.",
        "cost model: table of known models");
    return Done{};
  }
  const Result<monitor::Placement> at = monitor::place(*q_.spec, usual, *q_.gpu);
  if (!at) return at.error();
  place(*at, usual);
  compile(at->offload == Offload::group || at->offload == Offload::sequential);
  if (!at->fits) {
    warn("run it on this GPU at all",
         fmt::format("Even so it takes {}; {}", gib(at->peak_bytes),
                     plain->remedies.empty() ? "take a larger device" : plain->remedies.back()),
         "cost model: docs/predict.md");
  }
  Workload chosen = usual;
  chosen.offload = at->offload;
  chosen.width = at->width;
  chosen.height = at->height;
  if (Result<Prediction> p = predict(*q_.spec, chosen, *q_.gpu)) out_.prediction = *std::move(p);
  return Done{};
}

// What many pages advise, and what has become of it.
void Recommendation::void_advice() {
  warn("enable_attention_slicing() to save memory",
       "With SDPA no score matrix is stored, so slices save nothing and cost serious time.",
       rule("ATT-SLICE"));
  warn("gradient checkpointing to save memory",
       "It trades memory for a second forward in the backward pass; at inference there is none, so "
       "it saves nothing.",
       rule("TR-CKPT"));
  if (q_.family == "mmdit") {
    warn("true_cfg_scale for every MMDiT",
         "Only Qwen-Image's pipeline is guided by it; Flux and SD3 take guidance_scale.",
         "diffusers, signatures of the pipelines");
    warn("never compile an MMDiT",
         "Its repeated blocks compile well today: compile_repeated_blocks().", rule("COMPILE-OFF"));
  }
  warn("batch_size as an argument of the pipeline",
       "Pipelines have none: it is num_images_per_prompt, or a list of prompts.",
       "diffusers, signatures of the pipelines");
}

Result<std::optional<CostSpec>> spec_of(std::string_view model) {
  if (model.empty()) return std::optional<CostSpec>();
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(model), ignored)) {
    const Result<Model> read = inspect_model(std::string(model));
    if (!read) return read.error();
    Result<CostSpec> spec = cost_spec(*read);
    if (!spec) return spec.error();
    return std::optional<CostSpec>(*std::move(spec));
  }
  Result<CostSpec> spec = cost_spec(model);
  if (!spec) return spec.error();
  return std::optional<CostSpec>(*std::move(spec));
}

}  // namespace

const PipelineSetting* PipelineSettings::find(std::string_view key) const noexcept {
  const auto at = std::find_if(settings.begin(), settings.end(),
                               [&](const PipelineSetting& s) { return s.key == key; });
  return at != settings.end() ? &*at : nullptr;
}
std::string_view PipelineSettings::value(std::string_view key) const noexcept {
  const PipelineSetting* const setting = find(key);
  return setting != nullptr ? std::string_view(setting->value) : std::string_view();
}

Result<PipelineSettings> recommend_settings(std::string_view architecture, const Hardware* gpu,
                                            std::string_view model) {
  Question question;
  question.gpu = gpu;
  Result<std::optional<CostSpec>> spec = spec_of(model);
  if (!spec) return spec.error();
  question.spec = *std::move(spec);
  const std::string said = monitor::family_key(architecture);
  question.family = said;
  if (question.spec) {
    if (const auto family = monitor::family_of(question.spec->architecture); !family.empty()) {
      question.family = family;
    }
  }
  PipelineSettings out;
  out.architecture = monitor::family_title(question.family);
  out.model = question.spec ? question.spec->title : "";
  out.gpu = gpu != nullptr ? gpu->name : "cpu";
  Recommendation recommendation(question, out);
  if (!said.empty() && said != question.family) {
    recommendation.warn(
        fmt::format("settings for {}", architecture),
        fmt::format("{} is a {}: these are the settings for that.", out.model, out.architecture),
        "table of architectures: docs/models.md");
  }
  recommendation.guidance();
  recommendation.precision();
  recommendation.attention();
  if (question.spec) {
    if (const Status status = recommendation.with_model(); !status) return status.error();
  } else {
    recommendation.compile(false);
  }
  recommendation.void_advice();
  return out;
}

Result<PipelineSettings> recommend_settings(std::string_view architecture, std::string_view gpu,
                                            std::string_view model) {
  if (gpu.empty() || gpu == "cpu") {
    return recommend_settings(architecture, static_cast<const Hardware*>(nullptr), model);
  }
  const Result<Hardware> found = find_hardware(gpu);
  if (!found) return found.error();
  return recommend_settings(architecture, &*found, model);
}

PipelineSettings configure_generation_settings(std::string_view architecture) {
  // Without a model there is nothing that could fail.
  return *recommend_settings(architecture, static_cast<const Hardware*>(nullptr), "");
}

}  // namespace genscope
