// What single lines of known programs say. No state: the text in, what was found out.
//
// The formats are those of tqdm 4.x, ComfyUI 0.3 to 0.7 and stable-diffusion.cpp from November 2025
// (master-414) to August 2026 (master-827), read from their sources; docs/logs.md shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace genscope::watch {

// "Loading: 60%|######    | 12/20 [00:05<00:03,  2.40it/s]"
struct TqdmBar {
  std::string label;               // without the colon; may be empty
  std::optional<std::int64_t> at;  // absent: not a plain number ("1.2M/3.4M")
  std::optional<std::int64_t> total;
  std::string count;  // "12/20", as written
};
std::optional<TqdmBar> parse_tqdm(std::string_view line);

struct ComfyLine {
  enum class Kind {
    got_prompt,
    executed,    // seconds
    load_begin,  // name: the model's class
    load_end,    // partial
    dtype,       // name: bf16, ...; cast: what it is computed in, or ""
    attention,   // name: as set.attn
    failed,
  } kind = Kind::got_prompt;
  std::string name, cast;
  std::optional<double> seconds;
  bool partial = false;
};
std::optional<ComfyLine> parse_comfyui(std::string_view line);

struct SdLine {
  enum class Kind {
    loading,
    loaded,
    generate,     // width, height; frames of a video
    vae_encoded,  // seconds
    conditioned,  // seconds
    method,       // name: of the sampler. Said before anything is sampled, or as it begins
    image,        // a new one of the batch begins: at, total
    step,         // at, total
    sampled,      // seconds: one loop is over; name: "high noise" if the low noise's follows
    latents,      // seconds: all loops of the request are
    upscaling,    // latents are made larger, to be sampled once more
    refining,     // that sampling begins
    decoding,
    decoded,  // seconds
    done,     // seconds
    failed,
  } kind = Kind::loading;
  std::string name;
  std::int64_t at = 0, total = 0, width = 0, height = 0, frames = 0;
  std::optional<double> seconds;
};
std::optional<SdLine> parse_sdcpp(std::string_view line);

}  // namespace genscope::watch
