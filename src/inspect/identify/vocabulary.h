// Vocabulary: what the modules of an architecture are called in its published networks. It is how a
// relative is told from the model that it was made from: it has a module that the model has not.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "inspect/identify/tensor_view.h"

namespace genscope::inspect {

struct Vocabulary {
  std::string_view architecture;
  std::string_view naming;  // "diffusers", "original"; "comfy": as ComfyUI repacks the original
  // Of models that people train LoRAs for a tree: "blocks.#40(attn(to_q to_k) norm)", where #40 is
  // a number below 40. Of others the words only.
  std::string_view modules;
  // Input widths of layers in all releases, by the end of their path: "attn2.to_k=768/1024". "": it
  // is no base of LoRAs.
  std::string_view widths = {};
};

std::span<const Vocabulary> base_vocabularies();
std::span<const Vocabulary> other_vocabularies();

// Whether the names of this architecture in this naming are known.
bool has_vocabulary(std::string_view architecture, std::string_view naming);

// Whether a published network of this architecture has a module, or a part of a module's path, of
// this name.
bool knows_word(std::string_view architecture, std::string_view word);

// The block that a module is in: "blocks.7." is number 7 of 40.
struct ModuleBlock {
  std::string_view stem;  // what is before the number; "" if the module is in no block
  std::uint64_t number = 0, of = 0;
};

// Whether `path` is a module of the tree, and in which block. `flat`: '_' may stand for '.', as
// kohya's trainers write.
bool has_module(const Vocabulary& tree, std::string_view path, bool flat,
                ModuleBlock* block = nullptr);
// Whether a layer with this path has inputs so wide in a release, as far as the table tells.
bool has_width(const Vocabulary& tree, std::string_view path, std::uint64_t width);

// The distinct words of the tensors' names, without numbers and what quantisation adds.
std::vector<std::string_view> words_of(const TensorView& view);

}  // namespace genscope::inspect
