// Rule: how one architecture is told from its tensors. Rules are rows of tables (denoisers.cc,
// autoencoders.cc, encoders.cc), tried in order: the first whose names are there is the answer.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include <genscope/inspect.h>

namespace genscope::inspect {

using Field = std::uint64_t Dimensions::*;
using Names = std::initializer_list<std::string_view>;

// One figure of Dimensions and where it is read. A figure that is found is not overwritten, so a
// second row for the same field is a second place to look.
struct Measure {
  enum class Kind : std::uint8_t {
    size,        // of axis `axis` of the tensor `name`, divided by `divisor`
    blocks,      // numbered blocks under the stem `name`
    count,       // tensors that begin with `name` and end with `end`
    fixed,       // `divisor`: the same in all models of this architecture
    head_size,   // heads: the width divided by the size of `name`, a norm over one head
    head_fixed,  // heads: the width divided by `divisor`
    conv_in,     // input channels of a patch convolution, also one that GGUF has folded to rank 4
    per_patch,   // of `size`: channels, when the tensor has them for all pixels of a patch
  };
  Kind kind;
  Field field;
  std::string_view name = {};
  int axis = 0;
  std::uint64_t divisor = 1;
  std::string_view end = {};
};

constexpr Measure size(Field field, std::string_view name, int axis, std::uint64_t divisor = 1) {
  return {Measure::Kind::size, field, name, axis, divisor};
}
constexpr Measure blocks(Field field, std::string_view stem) {
  return {Measure::Kind::blocks, field, stem};
}
constexpr Measure count(Field field, std::string_view begin, std::string_view end) {
  return {Measure::Kind::count, field, begin, 0, 1, end};
}
constexpr Measure fixed(Field field, std::uint64_t value) {
  return {Measure::Kind::fixed, field, {}, 0, value};
}
constexpr Measure head_size(std::string_view norm) {
  return {Measure::Kind::head_size, &Dimensions::heads, norm};
}
constexpr Measure head_fixed(std::uint64_t head) {
  return {Measure::Kind::head_fixed, &Dimensions::heads, {}, 0, head};
}
constexpr Measure per_patch(Field field, std::string_view name, int axis) {
  return {Measure::Kind::per_patch, field, name, axis};
}
constexpr Measure conv_in(std::string_view weight) {
  return {Measure::Kind::conv_in, &Dimensions::in_channels, weight};
}

// A way of naming the tensors: all of `has` must be there.
struct Naming {
  std::string_view name;  // "diffusers", "original", "gguf"
  Names has;
  std::initializer_list<Measure> measures;
};

// A condition on what is already known to be of the architecture, or on its shapes.
struct Test {
  enum class Kind : std::uint8_t { equals, has, lacks, size, guided, not_guided };
  Kind kind;
  Field field = nullptr;
  std::uint64_t value = 0;
  std::string_view name = {};   // has, lacks, size: of a tensor, or a stem that ends with '.'
  std::string_view other = {};  // the same in another naming
  int axis = 0;
};

constexpr Test equals(Field field, std::uint64_t value) {
  return {Test::Kind::equals, field, value};
}
constexpr Test has(std::string_view name, std::string_view other = {}) {
  return {Test::Kind::has, nullptr, 0, name, other};
}
constexpr Test lacks(std::string_view name, std::string_view other = {}) {
  return {Test::Kind::lacks, nullptr, 0, name, other};
}
constexpr Test sized(std::string_view name, int axis, std::uint64_t value,
                     std::string_view other = {}) {
  return {Test::Kind::size, nullptr, value, name, other, axis};
}
constexpr Test guided() { return {Test::Kind::guided}; }
constexpr Test not_guided() { return {Test::Kind::not_guided}; }

// A finer answer; the first whose tests all hold.
struct Variant {
  std::initializer_list<Test> tests;
  std::string_view variant;
  std::string_view title;
};

struct Rule {
  std::string_view architecture;
  Family family = Family::unknown;
  std::string_view title;
  std::initializer_list<Naming> namings;
  std::initializer_list<Test> tests = {};  // besides names: what keeps a lookalike out
  Names guidance = {};                     // any of them: it takes guidance as an input
  std::initializer_list<Variant> variants = {};
  Names gguf = {};                          // values of general.architecture
  Names buffers = {};                       // stored, but not parameters
  Confidence unrefined = Confidence::high;  // when no variant fits
  // A member of the architecture that is not what its name means: asked for by name, it is passed.
  bool relative = false;
  // A name for what has the common names and no others: gives way to any other rule.
  bool generic = false;
  // Words of names that its variants have and that the vocabulary lacks, between blanks; "audio*"
  // is any word that begins so. "*": all, as the names of this model are not listed.
  std::string_view more = {};
};

// Besides the vocabulary, the words of a rule's own names and of `more` are known.
bool knows(const Rule& rule, std::string_view word);

std::span<const Rule> denoiser_rules();
std::span<const Rule> video_rules();
std::span<const Rule> adapter_rules();  // ControlNet and the like, before denoisers
std::span<const Rule> unet_rules();
std::span<const Rule> newer_rules();  // architectures without a cost model
std::span<const Rule> autoencoder_rules();
std::span<const Rule> encoder_rules();

}  // namespace genscope::inspect
