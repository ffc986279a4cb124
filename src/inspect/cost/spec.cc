// From a known name, or from a model that was inspected, to what the cost model needs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/suggest.h"
#include "inspect/cost/denoiser.h"
#include "inspect/cost/profile.h"

namespace genscope {
namespace {

using inspect::Encoder;
using inspect::Profile;

constexpr std::uint64_t kBf16 = 2;  // bytes

// Text encoders and VAE as they are released: bf16.
void add_typical_parts(const Profile& profile, CostSpec& spec) {
  spec.vae_bytes = kBf16 * inspect::vae(profile.vae).parameters;
  spec.other_bytes = spec.largest_other_bytes = spec.vae_bytes;
  const auto add = [&](std::uint64_t bytes) {
    spec.other_bytes += bytes;
    spec.largest_other_bytes = std::max(spec.largest_other_bytes, bytes);
  };
  for (const Encoder& encoder : profile.encoders) add(kBf16 * encoder.parameters);
  spec.further_experts = profile.experts - 1;
}

void add_parts_of(const Model& model, const Component* denoiser, CostSpec& spec) {
  for (const Component& part : model.components) {
    if (&part == denoiser) continue;
    if (part.identity.architecture == denoiser->identity.architecture &&
        part.identity.family == denoiser->identity.family) {
      ++spec.further_experts;
      spec.expert_bytes += part.bytes;
      continue;
    }
    spec.other_bytes += part.bytes;
    spec.largest_other_bytes = std::max(spec.largest_other_bytes, part.bytes);
    if (part.identity.family == Family::vae) spec.vae_bytes = std::max(spec.vae_bytes, part.bytes);
  }
}

// Relatives whose blocks, tokens or VAE differ from what the formulas count.
struct Relative {
  std::string_view architecture, variant;  // a word of Identity::variant
};
constexpr Relative kUncounted[] = {
    {"hunyuan_video", "1.5"},
    {"hunyuan_video", "framepack"},
    {"hunyuan_video", "image"},
    {"chroma", "radiance"},
    {"qwen_image", "mage"},
    {"flux", "ovis"},
    {"flux", "fibo"},
    {"flux", "bria"},
    {"lumina2", "newbie"},
    {"wan", "vace"},
    {"wan", "animate"},
    {"wan", "s2v"},
    {"wan", "humo"},
    {"wan", "camera"},
    {"wan", "helios"},
    {"wan", "anyflow-far"},
    {"cogvideox", "1.5"},
    {"cogvideox", "consisid"},
    {"sd2", "upscaler"},
    {"ltx", "2"},
    {"sdxl", "kolors"},
    {"sdxl", "animatediff"},
    {"sdxl", "distilled"},
    {"sd1", "animatediff"},
    {"sd1", "distilled"},
    {"sd2", "unclip"},
};

bool is_uncounted(const Identity& identity) {
  const std::string words = " " + identity.variant + " ";
  return std::any_of(std::begin(kUncounted), std::end(kUncounted), [&](const Relative& r) {
    return identity.architecture == r.architecture &&
           words.find(fmt::format(" {} ", r.variant)) != std::string::npos;
  });
}

// What the tensors did not tell is as in the nearest known model. That a model has no second
// attention or no guidance is told by their absence.
Dimensions completed(Dimensions dims, const Dimensions& known) {
  const auto fill = [](std::uint64_t& size, std::uint64_t otherwise) {
    if (size == 0) size = otherwise;
  };
  fill(dims.width, known.width);
  fill(dims.layers, known.layers);
  fill(dims.single_layers, known.single_layers);
  fill(dims.refiner_layers, known.refiner_layers);
  fill(dims.heads, known.heads);
  fill(dims.ffn_width, known.ffn_width);
  fill(dims.kv_width, known.kv_width > 0 ? dims.width * known.kv_width / known.width : 0);
  fill(dims.in_channels, known.in_channels);
  fill(dims.out_channels, known.out_channels);
  fill(dims.patch, known.patch);
  fill(dims.text_width, known.text_width);
  fill(dims.pooled_width, known.pooled_width);
  if (dims.in_channels == known.in_channels) fill(dims.image_width, known.image_width);
  return dims;
}

// The known name whose spelling, title or alias is nearest; empty if none is near.
std::string meant_by(std::string_view name) {
  std::vector<std::string> spellings;
  std::vector<std::string_view> names;
  for (const Profile& profile : inspect::profiles()) {
    const auto add = [&](std::string_view spelling) {
      spellings.push_back(inspect::plain_name(spelling));
      names.push_back(profile.name);
    };
    add(profile.name);
    add(profile.title);
    for (std::string_view rest = profile.aliases; rest.size() > 1;) {
      rest.remove_prefix(1);  // the blank before
      add(rest.substr(0, rest.find(' ')));
      rest.remove_prefix(rest.find(' '));
    }
  }
  const std::string near = base::nearest(inspect::plain_name(name), spellings);
  const auto at = std::find(spellings.begin(), spellings.end(), near);
  return at == spellings.end()
             ? ""
             : std::string(names[static_cast<std::size_t>(at - spellings.begin())]);
}

std::string known_architectures() {
  std::vector<std::string_view> names;
  for (const inspect::Denoiser& denoiser : inspect::denoisers()) {
    names.push_back(denoiser.architecture);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Error no_denoiser(const Model& model) {
  const Identity& identity = model.identity;
  if (identity.family == Family::unknown) {
    return {ErrorCode::unsupported,
            fmt::format("{}: not recognised, so its cost is not known; name a known model instead "
                        "(`genscope predict list`)",
                        model.path)};
  }
  if (identity.family == Family::language || identity.family == Family::vision_language) {
    return {ErrorCode::unsupported,
            fmt::format("{}: a language model ({}); the cost model is of diffusion models. As a "
                        "rule a token costs 2 FLOPs a parameter: {:.3g} GFLOP, without attention",
                        model.path, identity.title, 2e-9 * static_cast<double>(model.parameters))};
  }
  return {ErrorCode::unsupported,
          fmt::format("{}: {} ({}), no denoiser; give the model that it belongs to", model.path,
                      name(identity.family), identity.title)};
}

}  // namespace

std::vector<std::string> known_models() {
  std::vector<std::string> names;
  for (const Profile& profile : inspect::profiles()) names.emplace_back(profile.name);
  return names;
}

Result<CostSpec> cost_spec(std::string_view known_name) {
  const Profile* profile = inspect::find_profile(known_name);
  if (profile == nullptr) {
    const std::string meant = meant_by(known_name);
    return Error{ErrorCode::not_found,
                 fmt::format("no file and no known model is called '{}'{}; known: {}", known_name,
                             meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant),
                             fmt::join(known_models(), ", "))};
  }
  CostSpec spec;
  spec.architecture = profile->architecture;
  spec.title = profile->title;
  spec.dimensions = profile->dimensions;
  spec.parameters = profile->parameters;
  spec.origin = "table";
  spec.profile = profile->name;
  add_typical_parts(*profile, spec);
  return spec;
}

Result<CostSpec> cost_spec(const Model& model) {
  const Component* denoiser = model.denoiser();
  if (denoiser == nullptr) return no_denoiser(model);
  const Identity& identity = denoiser->identity;
  const Profile* profile = inspect::nearest_profile(identity.architecture, denoiser->parameters,
                                                    identity.dimensions.guidance_embedding);
  if (profile == nullptr) {
    return Error{ErrorCode::unsupported,
                 fmt::format("{}: no cost formula for architecture '{}'; known: {}", model.path,
                             identity.architecture, known_architectures())};
  }
  if (is_uncounted(identity)) {
    return Error{
        ErrorCode::unsupported,
        fmt::format("{}: no cost formula for {} (architecture {}, variant {}); the nearest "
                    "known model is {}",
                    model.path, identity.title, identity.architecture, identity.variant,
                    profile->name)};
  }
  CostSpec spec;
  spec.architecture = identity.architecture;
  spec.title = identity.title.empty() ? std::string(profile->title) : identity.title;
  spec.dimensions = completed(identity.dimensions, profile->dimensions);
  spec.parameters = denoiser->parameters;
  spec.weight_bytes = denoiser->bytes;
  spec.quantisation = denoiser->quantisation;
  spec.origin = fmt::format("file {}", model.path);
  spec.profile = profile->name;
  if (model.components.size() > 1) {
    add_parts_of(model, denoiser, spec);
  } else {
    add_typical_parts(*profile, spec);
  }
  return spec;
}

}  // namespace genscope
