#include "monitor/settings/guidance.h"

#include <algorithm>
#include <iterator>

namespace genscope::monitor {
namespace {

// Defaults of the __call__ of diffusers' pipelines, read from its sources of 2026-08-23.
constexpr Guidance kGuidance[] = {
    {"sd1", "guidance_scale", "7.5", "StableDiffusionPipeline"},
    {"sd2", "guidance_scale", "7.5", "StableDiffusionPipeline"},
    {"sdxl", "guidance_scale", "5.0", "StableDiffusionXLPipeline"},
    {"sd3", "guidance_scale", "7.0", "StableDiffusion3Pipeline"},
    {"flux", "guidance_scale", "3.5", "FluxPipeline"},
    {"flux2", "guidance_scale", "4.0", "Flux2Pipeline"},
    {"qwen_image", "true_cfg_scale", "4.0", "QwenImagePipeline"},
    {"pixart", "guidance_scale", "4.5", "PixArtSigmaPipeline"},
    {"sana", "guidance_scale", "4.5", "SanaPipeline"},
    {"lumina2", "guidance_scale", "4.0", "Lumina2Pipeline"},
    {"auraflow", "guidance_scale", "3.5", "AuraFlowPipeline"},
    {"chroma", "guidance_scale", "5.0", "ChromaPipeline"},
    {"z_image", "guidance_scale", "5.0", "ZImagePipeline"},
    {"wan", "guidance_scale", "5.0", "WanPipeline"},
    {"hunyuan_video", "guidance_scale", "6.0", "HunyuanVideoPipeline"},
    {"mochi", "guidance_scale", "4.5", "MochiPipeline"},
    {"ltx", "guidance_scale", "3.0", "LTXPipeline"},
    {"cogvideox", "guidance_scale", "6.0", "CogVideoXPipeline"},
};

}  // namespace

const Guidance* find_guidance(std::string_view architecture) noexcept {
  const auto* const row =
      std::find_if(std::begin(kGuidance), std::end(kGuidance),
                   [&](const Guidance& g) { return g.architecture == architecture; });
  return row != std::end(kGuidance) ? row : nullptr;
}

}  // namespace genscope::monitor
