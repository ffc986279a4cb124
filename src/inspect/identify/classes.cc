#include "inspect/identify/classes.h"

#include <fmt/format.h>

#include "inspect/identify/match.h"

namespace genscope::inspect {
namespace {

constexpr ConfigClass kClasses[] = {
    {"QwenImageTransformer2DModel", "qwen_image"},
    {"ChromaTransformer2DModel", "chroma"},
    {"Flux2Transformer2DModel", "flux2"},
    {"FluxTransformer2DModel", "flux"},
    {"LongCatImageTransformer2DModel", "flux"},
    {"OvisImageTransformer2DModel", "flux"},
    {"BriaTransformer2DModel", "flux"},
    {"BriaFiboTransformer2DModel", "flux"},
    {"AuraFlowTransformer2DModel", "auraflow"},
    {"HunyuanVideoTransformer3DModel", "hunyuan_video"},
    {"HunyuanVideo15Transformer3DModel", "hunyuan_video"},
    {"HunyuanVideoFramepackTransformer3DModel", "hunyuan_video"},
    {"HunyuanImageTransformer2DModel", "hunyuan_video"},
    {"SD3Transformer2DModel", "sd3"},
    {"WanTransformer3DModel", "wan"},
    {"WanVACETransformer3DModel", "wan"},
    {"WanAnimateTransformer3DModel", "wan"},
    {"ChronoEditTransformer3DModel", "wan", Family::unknown, "ChronoEdit (Wan)"},
    {"SkyReelsV2Transformer3DModel", "wan", Family::causal_video, "SkyReels-V2"},
    {"HeliosTransformer3DModel", "wan", Family::causal_video},
    {"AnyFlowFARTransformer3DModel", "wan", Family::causal_video},
    {"AnyFlowTransformer3DModel", "wan"},
    {"ZImageTransformer2DModel", "z_image"},
    {"Lumina2Transformer2DModel", "lumina2"},
    {"MochiTransformer3DModel", "mochi"},
    {"CogVideoXTransformer3DModel", "cogvideox"},
    {"ConsisIDTransformer3DModel", "cogvideox", Family::unknown, "ConsisID (CogVideoX)"},
    {"SanaTransformer2DModel", "sana"},
    {"LTXVideoTransformer3DModel", "ltx"},
    {"LTX2VideoTransformer3DModel", "ltx"},
    {"PixArtTransformer2DModel", "pixart"},
    {"HiDreamImageTransformer2DModel", "hidream"},
    {"CosmosTransformer3DModel", "cosmos"},
    {"OmniGen2Transformer2DModel", "omnigen2"},
    {"Kandinsky5Transformer3DModel", "kandinsky5"},
    {"HunyuanDiT2DModel", "hunyuan_dit"},
    {"StableCascadeUNet", "cascade"},
    {"UNetSpatioTemporalConditionModel", "svd"},
    {"SanaVideoTransformer3DModel", "sana_video"},
    {"Krea2Transformer2DModel", "krea2"},
    {"Ideogram4Transformer2DModel", "ideogram4"},
    {"ErnieImageTransformer2DModel", "ernie_image"},
    {"GlmImageTransformer2DModel", "glm_image"},
    {"CogView3PlusTransformer2DModel", "cogview4", Family::unknown, "CogView3+"},
    {"CogView4Transformer2DModel", "cogview4", Family::unknown, "CogView4"},
    {"AllegroTransformer3DModel", "allegro"},
    {"NucleusMoEImageTransformer2DModel", "nucleus"},
    {"MotifVideoTransformer3DModel", "motif_video"},
    {"MiniMaxH3Transformer3DModel", "minimax_h3"},
    {"PRXTransformer2DModel", "prx"},
    {"AceStepTransformer1DModel", "ace_step"},
    {"StableAudioDiTModel", "stable_audio"},
    {"StableAudio3DiTModel", "stable_audio", Family::unknown, "Stable Audio 3"},
    {"AutoencoderKL", "vae_kl"},
    {"AutoencoderKLTemporalDecoder", "vae_kl"},
    {"AutoencoderKLFlux2", "vae_flux2"},
    {"AutoencoderKLWan", "vae_wan", Family::unknown, "Wan VAE"},
    {"AutoencoderKLQwenImage", "vae_wan", Family::unknown, "Qwen-Image VAE"},
    {"AutoencoderKLHunyuanVideo", "vae_hunyuan_video"},
    {"AutoencoderKLHunyuanVideo15", "vae_hunyuan_video15"},
    {"AutoencoderKLHunyuanImage", "vae_kl"},
    {"AutoencoderKLCogVideoX", "vae_cogvideox"},
    {"AutoencoderKLLTXVideo", "vae_ltx"},
    {"AutoencoderKLLTX2Video", "vae_ltx"},
    {"AutoencoderKLMochi", "vae_mochi"},
    {"AutoencoderKLCosmos", "vae_cosmos"},
    {"AutoencoderDC", "vae_dc"},
    {"AutoencoderTiny", "vae_tiny"},
    {"AutoencoderOobleck", "vae_oobleck"},
    {"CLIPTextModel", "clip_text"},
    {"CLIPTextModelWithProjection", "clip_text"},
    {"CLIPVisionModel", "clip_vision"},
    {"CLIPVisionModelWithProjection", "clip_vision"},
    {"SiglipVisionModel", "clip_vision"},
    {"T5EncoderModel", "t5"},
    {"UMT5EncoderModel", "umt5"},
    {"Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl"},
    {"Qwen2VLForConditionalGeneration", "qwen2_vl"},
    {"Qwen3VLForConditionalGeneration", "qwen3_vl"},
    {"Qwen3VLModel", "qwen3_vl"},
    {"Qwen3Model", "qwen3"},
    {"Qwen3ForCausalLM", "qwen3"},
    {"Qwen2Model", "qwen2"},
    {"Qwen2ForCausalLM", "qwen2"},
    {"LlamaModel", "llama"},
    {"LlamaForCausalLM", "llama"},
    {"Gemma2Model", "gemma2"},
    {"Gemma2ForCausalLM", "gemma2"},
    {"Gemma3ForConditionalGeneration", "gemma3", Family::vision_language},
    {"Gemma3ForCausalLM", "gemma3"},
    {"Mistral3ForConditionalGeneration", "mistral3"},
    {"ControlNetModel", "controlnet"},
    {"FluxControlNetModel", "controlnet"},
    {"SD3ControlNetModel", "controlnet"},
    {"QwenImageControlNetModel", "controlnet"},
};

// Kinds of part that have no architecture; by the end of the name, or a word in it.
struct Ending {
  std::string_view word;
  ConfigClass meaning;
};
constexpr Ending kEndings[] = {
    {"Scheduler", {"", "", Family::scheduler}},
    {"Tokenizer", {"", "", Family::tokenizer}},
    {"FeatureExtractor", {"", "", Family::other}},
    {"Processor", {"", "", Family::other}},
    {"SafetyChecker", {"", "", Family::other, "safety checker"}},
};

}  // namespace

const ConfigClass* find_class(std::string_view name) {
  for (const ConfigClass& row : kClasses) {
    if (row.name == name) return &row;
  }
  for (const Ending& row : kEndings) {
    if (name.find(row.word) != std::string_view::npos) return &row.meaning;
  }
  return nullptr;
}

void weigh_class(std::string_view class_name, Identity& identity) {
  if (class_name.empty()) return;
  const ConfigClass* known = find_class(class_name);
  if (known == nullptr) {
    if (identity.title.empty()) identity.title = class_name;
    identity.evidence.push_back(fmt::format("class {}", class_name));
    return;
  }
  if (identity.architecture.empty()) {
    const Rule* rule = find_rule(known->architecture);
    const bool said = known->family != Family::unknown || rule == nullptr;
    identity.architecture = known->architecture;
    identity.family = said ? known->family : rule->family;
    identity.title = known->title.empty() ? class_name : known->title;
    const bool plain = known->architecture.empty();
    identity.confidence = plain ? Confidence::high : Confidence::low;
    identity.evidence.push_back(fmt::format("class {}", class_name));
    return;
  }
  if (!known->architecture.empty() && known->architecture != identity.architecture) {
    identity.confidence = Confidence::medium;
    identity.evidence.push_back(
        fmt::format("class {} means {}; the tensors decide", class_name, known->architecture));
    return;
  }
  if (known->family != Family::unknown) identity.family = known->family;
  if (!known->title.empty()) identity.title = known->title;
  if (!known->architecture.empty()) identity.confidence = Confidence::high;
  identity.evidence.push_back(fmt::format("class {}", class_name));
}

}  // namespace genscope::inspect
