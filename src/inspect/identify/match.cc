// Rules are tried in order, the most specific names first; a rule matches where all names of one of
// its namings are there and all its tests hold. The first match gives the identity, but the search
// goes on: a second one of another architecture, which no fact excludes, lowers the confidence and
// is named. What was excluded keeps the fact that did it, those about something present before
// those about something absent, because the first are the stronger ones.
//
// A name of the tensors that no published network of that architecture has excludes it, too
// (vocabulary.h). If nothing matched, or only a generic rule, the same is tried under each prefix
// that a quarter of the names bear.
//
// Cost: rules times the names they ask for, each a lookup; the words of the file are collected
// once, when the first rule asks for them.
#include "inspect/identify/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "inspect/identify/vocabulary.h"

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

constexpr std::string_view kAbsent = ", this has not";

std::string failure(const Test& test, const TensorView& view, const Dimensions& found) {
  const std::string_view there = holds(view, test.name) ? test.name : test.other;
  switch (test.kind) {
    case Test::Kind::equals:
      return fmt::format("a size of it is {}, not {}", found.*test.field, test.value);
    case Test::Kind::has:
      return fmt::format("it has {}{}", test.name, kAbsent);
    case Test::Kind::lacks:
      return fmt::format("this has {}", there);
    case Test::Kind::size:
      if (there.empty()) return fmt::format("it has {}{}", test.name, kAbsent);
      return fmt::format("size {}, not {}: axis {} of {}", view.size(there, test.axis), test.value,
                         test.axis, there);
    case Test::Kind::guided:
    case Test::Kind::not_guided:
      return "guidance";
  }
  return {};
}

bool is_word_of(std::string_view path, std::string_view word) {
  while (!path.empty()) {
    const std::string_view first = path.substr(0, path.find('.'));
    if (first == word) return true;
    path.remove_prefix(std::min(first.size() + 1, path.size()));
  }
  return false;
}

bool has_more(std::string_view more, std::string_view word) {
  while (!more.empty()) {
    std::string_view first = more.substr(0, more.find(' '));
    more.remove_prefix(std::min(first.size() + 1, more.size()));
    const bool begins = first.ends_with('*');
    if (begins) first.remove_suffix(1);
    if (begins ? word.starts_with(first) : word == first) return true;
  }
  return false;
}

// Tries all rules on one view.
class Trial {
 public:
  explicit Trial(const TensorView& view) : view_(view) {}

  Matching run() {
    for (const std::span<const Rule> table : tables()) {
      for (const Rule& rule : table) consider(rule);
    }
    return std::move(out_);
  }

 private:
  void consider(const Rule& rule) {
    std::string fact;
    for (const Naming& naming : rule.namings) {
      const bool all = std::all_of(naming.has.begin(), naming.has.end(),
                                   [&](std::string_view name) { return holds(view_, name); });
      if (all && accept(rule, naming, fact)) return;
    }
    if (!fact.empty()) exclude(rule, fact);
  }

  // Or says the fact that is against it.
  bool accept(const Rule& rule, const Naming& naming, std::string& fact) {
    Identity identity;
    describe(identity, rule, naming, view_);
    for (const Test& test : rule.tests) {
      if (passes(test, view_, identity.dimensions)) continue;
      fact = failure(test, view_, identity.dimensions);
      return false;
    }
    if (has_vocabulary(rule.architecture, naming.name)) {
      if (const std::string_view word = foreign(rule); !word.empty()) {
        fact = fmt::format("it has no '{}'", word);
        return false;
      }
    }
    if (!out_.found) {
      refine(identity, rule, view_);
      out_.found = Match{&rule, std::move(identity), view_};
      return true;
    }
    const Rule& first = *out_.found->rule;
    if (rule.generic || first.generic || rule.architecture == first.architecture) return true;
    Identity& said = out_.found->identity;
    said.confidence = std::min(said.confidence, Confidence::medium);
    said.evidence.push_back(fmt::format("no fact excludes {}", rule.title));
    return true;
  }

  // A word that the published networks of the rule's architecture do not have.
  std::string_view foreign(const Rule& rule) {
    if (words_.empty()) words_ = words_of(view_);
    for (const std::string_view word : words_) {
      if (!knows(rule, word)) return word;
    }
    return {};
  }

  void exclude(const Rule& rule, const std::string& fact) {
    if (rule.generic) return;
    std::string line = fmt::format("not {}: {}", rule.title, fact);
    std::vector<std::string>& lines = out_.excluded;
    if (std::find(lines.begin(), lines.end(), line) != lines.end()) return;
    if (fact.ends_with(kAbsent)) {
      lines.push_back(std::move(line));
      return;
    }
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(out_.by_presence++), std::move(line));
  }

  const TensorView& view_;
  std::vector<std::string_view> words_;
  Matching out_;
};

}  // namespace

bool knows(const Rule& rule, std::string_view word) {
  if (has_more(rule.more, word) || knows_word(rule.architecture, word)) return true;
  const auto named = [&](std::string_view name) { return is_word_of(name, word); };
  const auto tested = [&](const Test& test) { return named(test.name) || named(test.other); };
  for (const Naming& naming : rule.namings) {
    if (std::any_of(naming.has.begin(), naming.has.end(), named)) return true;
    for (const Measure& measure : naming.measures) {
      if (named(measure.name)) return true;
    }
  }
  return std::any_of(rule.guidance.begin(), rule.guidance.end(), named) ||
         std::any_of(rule.buffers.begin(), rule.buffers.end(), named) ||
         std::any_of(rule.variants.begin(), rule.variants.end(), [&](const Variant& variant) {
           return std::any_of(variant.tests.begin(), variant.tests.end(), tested);
         });
}

Matching match(const TensorView& part) {
  Matching out = Trial(part).run();
  // A generic name is taken back if a prefix hides a better one.
  if (out.found && !out.found->rule->generic) return out;
  constexpr std::uint64_t kFewest = 5;  // a prefix of so few names is no prefix
  for (const std::string_view prefix : kPrefixes) {
    const std::uint64_t named = part.count(prefix, "");
    // A quarter will do: beside "model." a vision tower has as many names of its own.
    if (named <= kFewest || named * 4 < part.members().size()) continue;
    Matching inner = Trial(part.under(prefix)).run();
    if (inner.found) return inner;
    if (out.excluded.empty()) {
      out.excluded = std::move(inner.excluded);
      out.by_presence = inner.by_presence;
    }
  }
  return out;
}

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules;
  for (const std::span<const Rule> table : tables()) {
    for (const Rule& rule : table) rules.push_back(&rule);
  }
  return rules;
}

const Rule* find_rule(std::string_view architecture) {
  for (const std::span<const Rule> table : tables()) {
    for (const Rule& rule : table) {
      if (rule.architecture == architecture && !rule.relative) return &rule;
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
