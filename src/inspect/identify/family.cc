#include <genscope/inspect.h>

namespace genscope {

std::string_view name(Family family) noexcept {
  switch (family) {
    case Family::unknown:
      return "unknown";
    case Family::mmdit:
      return "mmdit";
    case Family::dit:
      return "dit";
    case Family::unet:
      return "unet";
    case Family::causal_video:
      return "causal_video";
    case Family::language:
      return "language";
    case Family::vision_language:
      return "vision_language";
    case Family::vae:
      return "vae";
    case Family::text_encoder:
      return "text_encoder";
    case Family::vision_encoder:
      return "vision_encoder";
    case Family::lora:
      return "lora";
    case Family::controlnet:
      return "controlnet";
    case Family::scheduler:
      return "scheduler";
    case Family::tokenizer:
      return "tokenizer";
    case Family::other:
      return "other";
  }
  return "unknown";
}

std::string_view name(Confidence confidence) noexcept {
  switch (confidence) {
    case Confidence::none:
      return "none";
    case Confidence::low:
      return "low";
    case Confidence::medium:
      return "medium";
    case Confidence::high:
      return "high";
  }
  return "none";
}

}  // namespace genscope
