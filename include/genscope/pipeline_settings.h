// Pipeline settings: what to run a model with on a GPU, each with its reason and where that comes
// from: the cost model (predict.h), the rules (advise.h), or the pipelines' own defaults. And which
// advice that one still reads is void today.
//
//   const auto settings = genscope::recommend_settings("MMDiT", "RTX 4090", "qwen-image");
//   settings->value("offload");   // "group"
//
// Pure functions but for reading the model's header, if a path is given; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/error.h>
#include <genscope/predict.h>

namespace genscope {

struct PipelineSetting {
  std::string key;     // as the pipeline's argument or method is called: "true_cfg_scale"
  std::string value;   // "4.0", "bfloat16", "none"
  std::string reason;  // one sentence
  std::string source;  // "rule ATT-PROC", "cost model: ..."
};

// Advice that used to be right, or never was.
struct VoidAdvice {
  std::string advice;  // "enable_attention_slicing()"
  std::string why;
  std::string source;
};

struct PipelineSettings {
  std::string architecture;  // "MMDiT", "UNet", "DiT", ...; "" if not known
  std::string model;         // its title; "" if none was given
  std::string gpu;           // its name; "cpu" without one
  // guidance_scale or true_cfg_scale, num_inference_steps, torch_dtype, attention, offload,
  // vae_tiling, compile, width, height; what cannot be told without a model is not among them.
  std::vector<PipelineSetting> settings;
  std::vector<VoidAdvice> warnings;
  // With these settings; absent without model or GPU. Its peak does not know of VAE tiles.
  std::optional<Prediction> prediction;

  const PipelineSetting* find(std::string_view key) const noexcept;
  std::string_view value(std::string_view key) const noexcept;  // "" if there is none such
};
std::string to_json(const PipelineSettings& settings);
std::string to_text(const PipelineSettings& settings);

// `architecture`: "MMDiT", "UNet", "DiT"; "" if the model tells. `gpu`: a name (find_hardware()),
// "" or "cpu" for none. `model`: a known name (known_models()), a path, or "". A model that is of
// another architecture than said wins, with a warning. Fails on a name that is not known.
Result<PipelineSettings> recommend_settings(std::string_view architecture, std::string_view gpu,
                                            std::string_view model);
// The same for a device with other figures than the table's: less memory, say. Null: none.
Result<PipelineSettings> recommend_settings(std::string_view architecture, const Hardware* gpu,
                                            std::string_view model);

// The call of older pipeline optimizers: what the architecture alone tells.
PipelineSettings configure_generation_settings(std::string_view architecture);

}  // namespace genscope
