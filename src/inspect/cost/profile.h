// Profiles: the known models, with their sizes and with what their pipelines do unless told
// otherwise. To add a model: a row in image_profiles.cc or video_profiles.cc, and if its blocks are
// new a function in denoiser.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <genscope/predict.h>

#include "inspect/cost/vae.h"

namespace genscope::inspect {

struct Encoder {
  std::string_view name;
  std::uint64_t parameters;
};

struct Profile {
  std::string_view name = {};          // "flux-dev"
  std::string_view architecture = {};  // key of denoisers()
  std::string_view title = {};
  std::string_view aliases = {};  // further names in small letters and digits, between blanks
  std::uint64_t parameters = 0;   // exact, of the public class with the released configuration
  Dimensions dimensions = {};
  VaeKind vae = VaeKind::kl4;
  std::vector<Encoder> encoders = {};
  // What the pipeline or the model card takes.
  struct {
    std::uint64_t width = 0, height = 0, frames = 0, steps = 0;
  } usual = {};
  struct {
    std::uint64_t tokens = 0;
    bool padded = false;  // always that many; else it is a guess at a prompt
  } text = {};
  struct {
    std::uint64_t passes = 1;
    bool batched = true;  // all passes in one forward
  } guidance = {};
  // Denoisers that take turns and are loaded together (Wan 2.2: for much and for little noise).
  std::uint64_t experts = 1;
};

const std::vector<Profile>& profiles();
// By name, title or alias, with or without an owner and a slash.
const Profile* find_profile(std::string_view name);
// Of the same architecture the nearest in size, of those that take guidance as an input or not if
// it is told; null if there is none.
const Profile* nearest_profile(std::string_view architecture, std::uint64_t parameters,
                               std::optional<bool> guided = {}) noexcept;

// Small letters and digits of what follows the last slash.
std::string plain_name(std::string_view name);

}  // namespace genscope::inspect
