// What several profiles share. For image_profiles.cc and video_profiles.cc.
#pragma once

#include "inspect/cost/profile.h"

namespace genscope::inspect {

inline constexpr Encoder kClipL{"CLIP-L", 123'060'480};
inline constexpr Encoder kClipH{"OpenCLIP-H", 340'387'840};
inline constexpr Encoder kClipBigG{"OpenCLIP-bigG", 694'659'840};
inline constexpr Encoder kT5Xxl{"T5-XXL", 4'762'310'656};
inline constexpr Encoder kT5Xl{"Pile-T5-XL", 1'223'527'424};
inline constexpr Encoder kUmt5{"UMT5-XXL", 5'680'910'336};
inline constexpr Encoder kQwenVl{"Qwen2.5-VL-7B", 8'292'166'656};
inline constexpr Encoder kQwen3{"Qwen3-4B", 4'022'468'096};
inline constexpr Encoder kQwen3Large{"Qwen3-8B", 8'190'735'360};
inline constexpr Encoder kGemma2{"Gemma2-2B", 2'614'341'888};
inline constexpr Encoder kLlama{"Llama3-8B", 8'030'261'248};
inline constexpr Encoder kMistral{"Mistral-Small-24B", 24'011'361'280};

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

std::vector<Profile> image_profiles();
std::vector<Profile> video_profiles();

}  // namespace genscope::inspect
