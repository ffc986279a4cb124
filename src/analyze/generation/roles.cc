#include "analyze/generation/roles.h"

#include <algorithm>
#include <array>
#include <string>

namespace genscope::analysis {
namespace {

constexpr auto kInputWait = std::to_array<std::string_view>(
    {"data_loading", "data_load", "load_data", "dataloader", "data_loader", "data_wait",
     "wait_data", "wait_for_data", "input_wait", "wait_input", "input", "load_batch",
     "batch_loading", "next_batch", "fetch_batch", "data_fetch", "fetch_data"});

constexpr auto kText = std::to_array<std::string_view>(
    {"text", "text_encode", "text_encoding", "text_encoder", "encode_text", "text_processing",
     "process_text", "text_embedding", "prompt", "prompt_encode", "prompt_encoding",
     "encode_prompt", "prompt_processing", "tokenize", "tokenizer", "tokenization"});

constexpr auto kImage = std::to_array<std::string_view>(
    {"image_analysis", "analyze_image",    "image_encode",        "image_encoding",
     "image_encoder",  "encode_image",     "image_embedding",     "image_processing",
     "process_image",  "preprocess_image", "image_preprocessing", "vision",
     "vision_encode",  "vision_encoding",  "vision_encoder",      "visual",
     "visual_encode",  "visual_encoding",  "visual_encoder",      "vae_encode",
     "vae_encoding"});

constexpr auto kVaeDecode = std::to_array<std::string_view>({"vae_decode", "vae_decoding"});

struct EventName {
  std::string_view text;
  EventRole role;
};
constexpr auto kEvents = std::to_array<EventName>({
    {"streaming", EventRole::streaming},
    {"dropped_frames", EventRole::dropped_frames},
    {"layer", EventRole::layer},
    {"memory", EventRole::memory},
    {"cache", EventRole::cache},
    {"diffusion_step", EventRole::diffusion_step},
    {"block", EventRole::block},
    {"model_parameters", EventRole::model_parameters},
});

std::string normal(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool joint = c == '-' || c == '.' || c == ' ';
    out += upper ? static_cast<char>(c - 'A' + 'a') : joint ? '_' : c;
  }
  return out;
}

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool may_have_role(SpanKind kind) noexcept {
  return is_wrapper(kind) || kind == SpanKind::stage || kind == SpanKind::load;
}

}  // namespace

bool is_wrapper(SpanKind kind) noexcept {
  return kind == SpanKind::none || kind == SpanKind::forward || kind == SpanKind::task ||
         kind == SpanKind::function;
}

SpanRole span_role(std::string_view name, SpanKind kind) {
  if (!may_have_role(kind)) return SpanRole::none;
  const std::string plain = normal(name);
  if (is_one_of(kInputWait, plain)) return SpanRole::input_wait;
  if (kind == SpanKind::load) return SpanRole::none;  // loading an encoder is not encoding
  if (is_one_of(kText, plain)) return SpanRole::text;
  if (is_one_of(kImage, plain)) return SpanRole::image;
  return is_one_of(kVaeDecode, plain) ? SpanRole::vae_decode : SpanRole::none;
}

std::vector<SpanRole> span_roles(const Trace& trace) {
  std::vector<SpanRole> roles;
  roles.reserve(trace.names.size());
  for (const Name& name : trace.names) roles.push_back(span_role(name.text, name.kind));
  return roles;
}

std::vector<EventRole> event_roles(const Trace& trace) {
  std::vector<EventRole> roles(trace.names.size(), EventRole::none);
  for (std::size_t n = 0; n < trace.names.size(); ++n) {
    for (const EventName& event : kEvents) {
      if (event.text == trace.names[n].text) roles[n] = event.role;
    }
  }
  return roles;
}

}  // namespace genscope::analysis
