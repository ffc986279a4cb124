#include "analyze/stage_key.h"

#include <algorithm>
#include <array>

namespace genscope::analysis {
namespace {

struct Alias {
  std::string_view name, key;
};
constexpr auto kAliases = std::to_array<Alias>({
    {"text_encode", "text_encode"},
    {"text_encoding", "text_encode"},
    {"encode_prompt", "text_encode"},
    {"denoise", "denoise"},
    {"denoising", "denoise"},
    {"sampling", "denoise"},
    {"vae_encode", "vae_encode"},
    {"vae_encoding", "vae_encode"},
    {"vae_decode", "vae_decode"},
    {"vae_decoding", "vae_decode"},
    {"decode", "vae_decode"},
    {"post", "post"},
    {"postprocess", "post"},
    {"save", "save"},
    {"save_image", "save"},
    {"write_image", "save"},
    {"load", "load"},
    {"load_model", "load"},
});

}  // namespace

std::string_view stage_key(SpanKind kind, std::string_view name) noexcept {
  if (kind == SpanKind::load) return "load";
  const auto found = std::find_if(kAliases.begin(), kAliases.end(),
                                  [&](const Alias& alias) { return alias.name == name; });
  return found != kAliases.end() ? found->key : name;
}

}  // namespace genscope::analysis
