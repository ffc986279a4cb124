#include "inspect/identify/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace genscope::inspect {
namespace {

using Tables = std::array<std::span<const Rule>, 7>;

// In the order in which they are tried. Autoencoders come before language models, and UNets late:
// their names are the least specific.
const Tables& tables() {
  static const Tables all = {adapter_rules(), denoiser_rules(),    video_rules(),  newer_rules(),
                             unet_rules(),    autoencoder_rules(), encoder_rules()};
  return all;
}

// Prefixes under which people save a network.
constexpr std::string_view kPrefixes[] = {
    "model.diffusion_model.",
    "diffusion_model.",
    "model.model.",
    "net.",
    "transformer.",
    "transformer.model.",
    "unet.",
    "model.language_model.",
    "language_model.model.",
    "language_model.",
    "module.",
    "model.",
    "vae.",
    "first_stage_model.",
};

bool holds(const TensorView& view, std::string_view name) {
  if (name.empty()) return false;
  return name.ends_with('.') ? view.any(name) : view.has(name);
}

bool passes(const Test& test, const TensorView& view, const Dimensions& found) {
  const bool there = holds(view, test.name) || holds(view, test.other);
  switch (test.kind) {
    case Test::Kind::equals:
      return found.*test.field == test.value;
    case Test::Kind::has:
      return there;
    case Test::Kind::lacks:
      return !there;
    case Test::Kind::size:
      return view.size(test.name, test.axis) == test.value ||
             (!test.other.empty() && view.size(test.other, test.axis) == test.value);
    case Test::Kind::guided:
      return found.guidance_embedding;
    case Test::Kind::not_guided:
      return !found.guidance_embedding;
  }
  return false;
}

std::uint64_t conv_channels(const TensorView& view, std::string_view name, std::uint64_t width) {
  const Tensor* tensor = view.find(name);
  if (tensor == nullptr || tensor->dtype == Dtype::u8) return 0;
  const Shape& shape = tensor->shape;
  if (shape.rank == 4 && width != 0 && shape[0] > width && shape[0] % width == 0) {
    return shape[0] / width;  // [width * channels, time, height, width]
  }
  return shape.rank >= 4 ? shape[1] : 0;
}

std::uint64_t measured(const Measure& measure, const TensorView& view, const Dimensions& found) {
  const auto parts = [](std::uint64_t whole, std::uint64_t part) {
    return part == 0 ? 0 : whole / part;
  };
  switch (measure.kind) {
    case Measure::Kind::size:
      return view.size(measure.name, measure.axis) / measure.divisor;
    case Measure::Kind::blocks:
      return view.blocks(measure.name);
    case Measure::Kind::count:
      return view.count(measure.name, measure.end);
    case Measure::Kind::fixed:
      return measure.divisor;
    case Measure::Kind::head_size:
      return parts(found.width, view.size(measure.name, -1));
    case Measure::Kind::head_fixed:
      return parts(found.width, measure.divisor);
    case Measure::Kind::conv_in:
      return conv_channels(view, measure.name, found.width);
    case Measure::Kind::per_patch:
      return parts(view.size(measure.name, measure.axis), found.patch * found.patch);
  }
  return 0;
}

std::string shape_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape.span(), ", "));
}

void describe(Identity& out, const Rule& rule, const Naming& naming, const TensorView& view) {
  out.architecture = rule.architecture;
  out.title = rule.title;
  out.family = rule.family;
  out.confidence = Confidence::high;
  out.naming = naming.name;
  for (const std::string_view name : naming.has) {
    const Tensor* tensor = view.find(name);
    out.evidence.push_back(tensor == nullptr
                               ? std::string(name)
                               : fmt::format("{} {}", tensor->name, shape_text(tensor->shape)));
  }
  out.dimensions.guidance_embedding =
      std::any_of(rule.guidance.begin(), rule.guidance.end(),
                  [&](std::string_view name) { return holds(view, name); });
  for (const Measure& measure : naming.measures) {
    std::uint64_t& field = out.dimensions.*measure.field;
    if (field == 0) field = measured(measure, view, out.dimensions);
  }
}

void refine(Identity& out, const Rule& rule, const TensorView& view) {
  for (const Variant& variant : rule.variants) {
    const bool all = std::all_of(variant.tests.begin(), variant.tests.end(), [&](const Test& test) {
      return passes(test, view, out.dimensions);
    });
    if (!all) continue;
    out.variant = variant.variant;
    if (!variant.title.empty()) out.title = variant.title;
    for (const Test& test : variant.tests) {
      if (test.kind != Test::Kind::has && test.kind != Test::Kind::size) continue;
      const std::string_view name = holds(view, test.name) ? test.name : test.other;
      const Tensor* tensor = view.find(name);
      if (tensor == nullptr) continue;
      out.evidence.push_back(fmt::format("{} {}", tensor->name, shape_text(tensor->shape)));
    }
    return;
  }
  out.confidence = rule.unrefined;
}

std::optional<Match> match_under(const TensorView& view) {
  const auto has_all = [&](Names names) {
    return std::all_of(names.begin(), names.end(),
                       [&](std::string_view name) { return holds(view, name); });
  };
  for (const std::span<const Rule> table : tables()) {
    for (const Rule& rule : table) {
      for (const Naming& naming : rule.namings) {
        if (!has_all(naming.has)) continue;
        Identity identity;
        describe(identity, rule, naming, view);
        const bool all = std::all_of(rule.tests.begin(), rule.tests.end(), [&](const Test& test) {
          return passes(test, view, identity.dimensions);
        });
        if (!all) continue;
        refine(identity, rule, view);
        return Match{&rule, std::move(identity), view};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Match> match(const TensorView& part) {
  if (std::optional<Match> found = match_under(part)) return found;
  constexpr std::uint64_t kFewest = 5;  // a prefix of so few names is no prefix
  for (const std::string_view prefix : kPrefixes) {
    const std::uint64_t named = part.count(prefix, "");
    // A quarter will do: beside "model." a vision tower has as many names of its own.
    if (named <= kFewest || named * 4 < part.members().size()) continue;
    if (std::optional<Match> found = match_under(part.under(prefix))) return found;
  }
  return std::nullopt;
}

const Rule* find_rule(std::string_view architecture) {
  for (const std::span<const Rule> table : tables()) {
    for (const Rule& rule : table) {
      if (rule.architecture == architecture) return &rule;
    }
  }
  return nullptr;
}

std::string_view gguf_architecture(std::string_view name) {
  if (const Rule* rule = find_rule(name)) return rule->architecture;
  for (const std::span<const Rule> table : tables()) {
    for (const Rule& rule : table) {
      if (std::find(rule.gguf.begin(), rule.gguf.end(), name) != rule.gguf.end()) {
        return rule.architecture;
      }
    }
  }
  return {};
}

}  // namespace genscope::inspect
