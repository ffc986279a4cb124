#include "inspect/cost/profile.h"

#include <cmath>

namespace genscope::inspect {
namespace {

constexpr Encoder kClipL{"CLIP-L", 123'060'480};
constexpr Encoder kClipH{"OpenCLIP-H", 340'387'840};
constexpr Encoder kClipBigG{"OpenCLIP-bigG", 694'659'840};
constexpr Encoder kT5Xxl{"T5-XXL", 4'762'310'656};
constexpr Encoder kT5Xl{"Pile-T5-XL", 1'223'527'424};
constexpr Encoder kUmt5{"UMT5-XXL", 5'680'910'336};
constexpr Encoder kQwenVl{"Qwen2.5-VL-7B", 8'292'166'656};
constexpr Encoder kQwen3{"Qwen3-4B", 4'022'468'096};
constexpr Encoder kQwen3Large{"Qwen3-8B", 8'190'735'360};
constexpr Encoder kGemma2{"Gemma2-2B", 2'614'341'888};
constexpr Encoder kLlama{"Llama3-8B", 8'030'261'248};
constexpr Encoder kMistral{"Mistral-Small-24B", 24'011'361'280};

constexpr Dimensions kFlux = {.width = 3072,
                              .layers = 19,
                              .single_layers = 38,
                              .heads = 24,
                              .ffn_width = 12288,
                              .in_channels = 16,
                              .out_channels = 16,
                              .patch = 2,
                              .text_width = 4096,
                              .pooled_width = 768,
                              .guidance_embedding = true};

constexpr Dimensions without_guidance(Dimensions dims) {
  dims.guidance_embedding = false;
  return dims;
}

constexpr Dimensions flux2(std::uint64_t width, std::uint64_t dual, std::uint64_t single,
                           std::uint64_t text, bool guidance) {
  return {.width = width,
          .layers = dual,
          .single_layers = single,
          .heads = width / 128,
          .ffn_width = 3 * width,
          .in_channels = 32,
          .out_channels = 32,
          .patch = 2,
          .text_width = text,
          .guidance_embedding = guidance};
}

constexpr Dimensions sd3(std::uint64_t layers, std::uint64_t attention2) {
  return {.width = 64 * layers,
          .layers = layers,
          .heads = layers,
          .ffn_width = 256 * layers,
          .in_channels = 16,
          .out_channels = 16,
          .patch = 2,
          .text_width = 4096,
          .pooled_width = 2048,
          .attention2_layers = attention2};
}

constexpr Dimensions unet(std::uint64_t text, std::uint64_t pooled, std::uint64_t heads) {
  return {.width = 320,
          .heads = heads,
          .in_channels = 4,
          .out_channels = 4,
          .patch = 1,
          .text_width = text,
          .pooled_width = pooled};
}

// Self and cross attention. The feed-forward width is not always four times the width.
constexpr Dimensions cross(std::uint64_t width, std::uint64_t layers, std::uint64_t heads,
                           std::uint64_t ffn, std::uint64_t in, std::uint64_t out,
                           std::uint64_t patch, std::uint64_t text) {
  return {.width = width,
          .layers = layers,
          .heads = heads,
          .ffn_width = ffn,
          .in_channels = in,
          .out_channels = out,
          .patch = patch,
          .text_width = text};
}

constexpr Dimensions wan_i2v() {
  Dimensions dims = cross(5120, 40, 40, 13824, 36, 16, 2, 4096);
  dims.image_width = 1280;
  return dims;
}

constexpr Dimensions with_refiner(Dimensions dims, std::uint64_t layers, std::uint64_t kv) {
  dims.refiner_layers = layers;
  dims.kv_width = kv;
  return dims;
}

constexpr Dimensions kChroma = {.width = 3072,
                                .layers = 19,
                                .single_layers = 38,
                                .heads = 24,
                                .ffn_width = 12288,
                                .in_channels = 16,
                                .out_channels = 16,
                                .patch = 2,
                                .text_width = 4096};

constexpr Dimensions kAuraFlow = {.width = 3072,
                                  .layers = 4,
                                  .single_layers = 32,
                                  .heads = 12,
                                  .ffn_width = 8192,
                                  .in_channels = 4,
                                  .out_channels = 4,
                                  .patch = 2,
                                  .text_width = 2048};

constexpr Dimensions kHunyuan = {.width = 3072,
                                 .layers = 20,
                                 .single_layers = 40,
                                 .refiner_layers = 2,
                                 .heads = 24,
                                 .ffn_width = 12288,
                                 .in_channels = 16,
                                 .out_channels = 16,
                                 .patch = 2,
                                 .text_width = 4096,
                                 .pooled_width = 768,
                                 .guidance_embedding = true};

constexpr Dimensions kMochi = {.width = 3072,
                               .layers = 48,
                               .heads = 24,
                               .ffn_width = 8192,
                               .in_channels = 12,
                               .out_channels = 12,
                               .patch = 2,
                               .text_width = 4096,
                               .pooled_width = 1536};  // the width of its text stream

constexpr std::uint64_t kPrompt = 64;  // tokens of a prompt of two or three sentences

// name, architecture, title, aliases, parameters, dimensions, VAE, text encoders,
// width, height, frames, steps, text tokens, padded, passes, batched, experts
std::vector<Profile> image_profiles() {
  return {
      {"flux-dev", "flux", "FLUX.1-dev", " flux flux1 flux1d ", 11'901'408'320, kFlux,
       VaeKind::kl16, {kClipL, kT5Xxl}, 1024, 1024, 1, 50, 512, true, 1, true},
      {"flux-schnell", "flux", "FLUX.1-schnell", " schnell flux1s ", 11'891'178'560,
       without_guidance(kFlux), VaeKind::kl16, {kClipL, kT5Xxl}, 1024, 1024, 1, 4, 256, true, 1,
       true},
      {"flux2-dev", "flux2", "FLUX.2-dev", " flux2 ", 32'223'281'152,
       flux2(6144, 8, 48, 15360, true), VaeKind::kl32, {kMistral}, 1024, 1024, 1, 50, 512, true, 1,
       true},
      {"flux2-klein-4b", "flux2", "FLUX.2-klein-4B", " klein klein4b ", 3'875'544'576,
       flux2(3072, 5, 20, 7680, false), VaeKind::kl32, {kQwen3}, 1024, 1024, 1, 4, 512, true, 1,
       true},
      {"flux2-klein-9b", "flux2", "FLUX.2-klein-9B", " klein9b ", 9'078'581'248,
       flux2(4096, 8, 24, 12288, false), VaeKind::kl32, {kQwen3Large}, 1024, 1024, 1, 4, 512, true,
       1, true},
      {"qwen-image", "qwen_image", "Qwen-Image", " qwen ", 20'430'401'088,
       {.width = 3072, .layers = 60, .heads = 24, .ffn_width = 12288, .in_channels = 16,
        .out_channels = 16, .patch = 2, .text_width = 3584},
       VaeKind::wan, {kQwenVl}, 1328, 1328, 1, 50, kPrompt, false, 2, false},
      {"sd1.5", "sd1", "Stable Diffusion 1.5", " sd1 sd sd14 stablediffusion ", 859'520'964,
       unet(768, 0, 8), VaeKind::kl4, {kClipL}, 512, 512, 1, 50, 77, true, 2, true},
      {"sd2.1", "sd2", "Stable Diffusion 2.1", " sd2 sd20 ", 865'910'724, unet(1024, 0, 20),
       VaeKind::kl4, {kClipH}, 768, 768, 1, 50, 77, true, 2, true},
      {"sdxl", "sdxl", "Stable Diffusion XL", " sdxlbase stablediffusionxlbase10 xl ",
       2'567'463'684, unet(2048, 2816, 20), VaeKind::kl4, {kClipL, kClipBigG}, 1024, 1024, 1, 50,
       77, true, 2, true},
      {"sd3-medium", "sd3", "Stable Diffusion 3 Medium", " sd3 sd3m ", 2'028'328'000, sd3(24, 0),
       VaeKind::kl16, {kClipL, kClipBigG, kT5Xxl}, 1024, 1024, 1, 28, 333, true, 2, true},
      {"sd3.5-medium", "sd3", "Stable Diffusion 3.5 Medium", " sd35m ", 2'243'171'520, sd3(24, 13),
       VaeKind::kl16, {kClipL, kClipBigG, kT5Xxl}, 1024, 1024, 1, 40, 333, true, 2, true},
      {"sd3.5-large", "sd3", "Stable Diffusion 3.5 Large", " sd35 sd35l ", 8'056'627'520,
       sd3(38, 0), VaeKind::kl16, {kClipL, kClipBigG, kT5Xxl}, 1024, 1024, 1, 28, 333, true, 2,
       true},
      {"pixart-alpha", "pixart", "PixArt-alpha", " pixartxl2 ", 611'349'152,
       cross(1152, 28, 16, 4608, 4, 8, 2, 4096), VaeKind::kl4, {kT5Xxl}, 1024, 1024, 1, 20, 120,
       true, 2, true},
      {"pixart-sigma", "pixart", "PixArt-Sigma", " pixart ", 610'856'096,
       cross(1152, 28, 16, 4608, 4, 8, 2, 4096), VaeKind::kl4, {kT5Xxl}, 1024, 1024, 1, 20, 300,
       true, 2, true},
      {"sana-1.6b", "sana", "Sana 1.6B", " sana ", 1'604'462'752,
       cross(2240, 20, 70, 5600, 32, 32, 1, 2304), VaeKind::dc_ae, {kGemma2}, 1024, 1024, 1, 20,
       300, true, 2, true},
      {"lumina2", "lumina2", "Lumina-Image 2.0", " lumina luminaimage2 ", 2'609'769'152,
       with_refiner(cross(2304, 26, 24, 9216, 16, 16, 2, 2304), 2, 768), VaeKind::kl16, {kGemma2},
       1024, 1024, 1, 30, 256, true, 2, false},
      {"z-image", "z_image", "Z-Image-Turbo", " zimageturbo ", 6'154'908'736,
       with_refiner(cross(3840, 30, 30, 10240, 16, 16, 2, 2560), 2, 3840), VaeKind::kl16, {kQwen3},
       1024, 1024, 1, 9, kPrompt, false, 1, true},
      {"auraflow", "auraflow", "AuraFlow", " aura ", 6'833'439'744, kAuraFlow, VaeKind::kl4,
       {kT5Xl}, 1024, 1024, 1, 50, 256, true, 2, true},
      {"chroma", "chroma", "Chroma", " chroma1hd chroma1 ", 8'899'983'424, kChroma, VaeKind::kl16,
       {kT5Xxl}, 1024, 1024, 1, 35, 512, true, 2, false},
  };
}

std::vector<Profile> video_profiles() {
  const Dimensions wan_14b = cross(5120, 40, 40, 13824, 16, 16, 2, 4096);
  return {
      {"wan-14b", "wan", "Wan2.1-T2V-14B", " wan wan21 wan14b wan21t2v14b ", 14'288'491'584,
       wan_14b, VaeKind::wan, {kUmt5}, 1280, 720, 81, 50, 512, true, 2, false},
      {"wan-1.3b", "wan", "Wan2.1-T2V-1.3B", " wan13b wan21t2v13b ", 1'418'996'800,
       cross(1536, 30, 12, 8960, 16, 16, 2, 4096), VaeKind::wan, {kUmt5}, 832, 480, 81, 50, 512,
       true, 2, false},
      {"wan-i2v-14b", "wan", "Wan2.1-I2V-14B", " wan21i2v14b wani2v ", 16'394'878'784, wan_i2v(),
       VaeKind::wan, {kUmt5, kClipH}, 832, 480, 81, 40, 512, true, 2, false},
      {"wan2.2-a14b", "wan", "Wan2.2-T2V-A14B", " wan22 wan22t2va14b ", 14'288'491'584, wan_14b,
       VaeKind::wan, {kUmt5}, 1280, 720, 81, 40, 512, true, 2, false, 2},
      {"wan-5b", "wan", "Wan2.2-TI2V-5B", " wan22ti2v5b wan225b ", 4'999'787'712,
       cross(3072, 30, 24, 14336, 48, 48, 2, 4096), VaeKind::wan22, {kUmt5}, 1280, 704, 121, 50,
       512, true, 2, false},
      {"hunyuan-video", "hunyuan_video", "HunyuanVideo", " hunyuan ", 12'821'012'544, kHunyuan,
       VaeKind::hunyuan, {kLlama, kClipL}, 1280, 720, 129, 50, 256, true, 1, true},
      {"mochi-1", "mochi", "Mochi 1", " mochi mochi1preview ", 10'027'677'744, kMochi,
       VaeKind::mochi, {kT5Xxl}, 848, 480, 85, 64, 256, true, 2, true},
      {"ltx-2b", "ltx", "LTX-Video 2B", " ltx ltxv ltxvideo ", 1'923'385'472,
       cross(2048, 28, 32, 8192, 128, 128, 1, 4096), VaeKind::ltx, {kT5Xxl}, 704, 512, 161, 50, 128,
       true, 2, true},
      {"ltx-13b", "ltx", "LTX-Video 13B", " ltxv13b ", 13'042'569'344,
       cross(4096, 48, 32, 16384, 128, 128, 1, 4096), VaeKind::ltx, {kT5Xxl}, 1216, 704, 121, 30,
       256, true, 2, true},
      {"cogvideox-5b", "cogvideox", "CogVideoX-5b", " cogvideox cogvideo ", 5'570'283'072,
       cross(3072, 42, 48, 12288, 16, 16, 2, 4096), VaeKind::cogvideox, {kT5Xxl}, 720, 480, 49, 50,
       226, true, 2, true},
      {"cogvideox-2b", "cogvideox", "CogVideoX-2b", " ", 1'693'783'872,
       cross(1920, 30, 30, 7680, 16, 16, 2, 4096), VaeKind::cogvideox, {kT5Xxl}, 720, 480, 49, 50,
       226, true, 2, true},
  };
}

}  // namespace

std::string plain_name(std::string_view name) {
  const std::size_t slash = name.find_last_of('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') plain += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) plain += c;
  }
  return plain;
}

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = [] {
    std::vector<Profile> rows = image_profiles();
    for (Profile& row : video_profiles()) rows.push_back(std::move(row));
    return rows;
  }();
  return all;
}

const Profile* find_profile(std::string_view name) {
  const std::string plain = plain_name(name);
  if (plain.empty()) return nullptr;
  for (const Profile& profile : profiles()) {
    if (plain == plain_name(profile.name) || plain == plain_name(profile.title)) return &profile;
  }
  for (const Profile& profile : profiles()) {
    if (profile.aliases.find(" " + plain + " ") != std::string_view::npos) return &profile;
  }
  return nullptr;
}

const Profile* nearest_profile(std::string_view architecture, std::uint64_t parameters) noexcept {
  const Profile* best = nullptr;
  double best_distance = 0;
  for (const Profile& profile : profiles()) {
    if (profile.architecture != architecture) continue;
    const double ratio = static_cast<double>(parameters) / static_cast<double>(profile.parameters);
    const double distance = parameters == 0 ? 0 : std::abs(std::log(ratio));
    if (best != nullptr && distance >= best_distance) continue;
    best = &profile;
    best_distance = distance;
  }
  return best;
}

}  // namespace genscope::inspect
