#include "inspect/identify/classes.h"

#include <fmt/format.h>

#include <algorithm>

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
    {"UNet2DConditionModel", "sd1 sd2 sdxl sdxl_refiner kandinsky2 deepfloyd_if unet"},
    {"UNetMotionModel", "sd1 sd2 sdxl"},
    {"UNet2DModel", "unet"},
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
    {"LatteTransformer3DModel", "latte"},
    {"LuminaNextDiT2DModel", "lumina_next"},
    {"OmniGenTransformer2DModel", "omnigen"},
    {"EasyAnimateTransformer3DModel", "easyanimate"},
    {"Kandinsky3UNet", "kandinsky3"},
    {"PriorTransformer", "prior"},
    {"UVit2DModel", "uvit"},
    {"UniDiffuserModel", "unidiffuser"},
    {"UNet3DConditionModel", "unet3d"},
    {"I2VGenXLUNet", "i2vgen_xl"},
    {"AudioLDM2UNet2DConditionModel", "audioldm2", Family::unet, "AudioLDM 2"},
    {"DiTTransformer2DModel", "dit"},
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
    {"AutoencoderKLHunyuanImage", "vae_hunyuan_image"},
    {"AutoencoderKLHunyuanImageRefiner", "vae_hunyuan_video15"},
    {"AutoencoderKLAllegro", "vae_allegro"},
    {"AutoencoderKLMagvit", "vae_magvit"},
    {"AsymmetricAutoencoderKL", "vae_kl_asymmetric"},
    {"ConsistencyDecoderVAE", "vae_consistency"},
    {"VQModel", "vq"},
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
    {"CLIPModel", "clip"},
    {"SiglipModel", "siglip"},
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
    {"MistralModel", "llama mistral"},
    {"MistralForCausalLM", "llama mistral"},
    {"GemmaForCausalLM", "llama", Family::unknown, "Gemma"},
    {"GraniteForCausalLM", "llama", Family::unknown, "Granite"},
    {"SmolLM3ForCausalLM", "llama", Family::unknown, "SmolLM3"},
    {"Phi3ForCausalLM", "phi3"},
    {"T5ForConditionalGeneration", "t5"},
    {"Gemma2Model", "gemma2"},
    {"Gemma2ForCausalLM", "gemma2"},
    {"Gemma3ForConditionalGeneration", "gemma3", Family::vision_language},
    {"Gemma3ForCausalLM", "gemma3"},
    {"Mistral3ForConditionalGeneration", "mistral3"},
    {"ControlNetModel", "controlnet"},
    {"FluxControlNetModel", "controlnet"},
    {"SD3ControlNetModel", "controlnet"},
    {"SparseControlNetModel", "controlnet"},
    {"SanaControlNetModel", "controlnet"},
    {"HunyuanDiT2DControlNetModel", "controlnet"},
    {"ControlNetUnionModel", "controlnet"},
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

// Whether the architecture is one of those that the class may have.
bool means(const ConfigClass& known, std::string_view architecture) {
  std::string_view rest = known.architecture;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(' '));
    if (one == architecture) return true;
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  return false;
}

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
    // A class of its own may be more than what its names are like.
    const bool named = !identity.architecture.empty();
    identity.confidence = std::min(identity.confidence, Confidence::medium);
    identity.evidence.push_back(
        fmt::format("class {}{}", class_name, named ? ", which no rule knows" : ""));
    return;
  }
  const bool one = known->architecture.find(' ') == std::string_view::npos;
  if (identity.architecture.empty()) {
    const Rule* rule = find_rule(known->architecture.substr(0, known->architecture.find(' ')));
    const bool said = known->family != Family::unknown || rule == nullptr;
    if (one) identity.architecture = known->architecture;
    identity.family = said ? known->family : rule->family;
    identity.title = known->title.empty() ? class_name : known->title;
    const bool plain = known->architecture.empty();
    identity.confidence = plain ? Confidence::high : Confidence::low;
    identity.evidence.push_back(fmt::format("class {}", class_name));
    return;
  }
  if (!known->architecture.empty() && !means(*known, identity.architecture)) {
    identity.confidence = std::min(identity.confidence, Confidence::medium);
    identity.evidence.push_back(
        fmt::format("class {} means {}; the tensors decide", class_name, known->architecture));
    return;
  }
  if (known->architecture.empty()) {  // a scheduler or tokenizer with the tensors of a network
    identity.confidence = std::min(identity.confidence, Confidence::medium);
  } else if (one) {
    identity.confidence = Confidence::high;
  }
  if (known->family != Family::unknown) identity.family = known->family;
  if (!known->title.empty()) identity.title = known->title;
  identity.evidence.push_back(fmt::format("class {}", class_name));
}

}  // namespace genscope::inspect
