#include "inspect/read/weights_choice.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

namespace genscope::inspect {
namespace {

enum class Format { safetensors, gguf, torch, none };

struct Candidate {
  std::vector<std::string> files;
  std::string stem;  // without extension, shard numbers and variant: "model"
  std::string variant;
  Format format = Format::none;
  bool index = false;
};

constexpr std::array<std::string_view, 6> kStems{"diffusion_pytorch_model", "model",
                                                 "pytorch_model",           "adapter_model",
                                                 "pytorch_lora_weights",    "diffusion_flax_model"};

Format format_of(std::string_view extension) {
  if (extension == ".safetensors") return Format::safetensors;
  if (extension == ".gguf") return Format::gguf;
  for (const std::string_view torch : {".bin", ".pt", ".pth", ".ckpt"}) {
    if (extension == torch) return Format::torch;
  }
  return Format::none;
}

bool number_of(std::string_view digits, unsigned& value) {
  value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return digits.size() == 5;
}

// Splits "model.fp16" at a known stem; an unknown one keeps its dots.
void split_variant(Candidate& candidate) {
  for (const std::string_view stem : kStems) {
    if (candidate.stem.starts_with(stem) && candidate.stem.size() > stem.size() &&
        candidate.stem[stem.size()] == '.') {
      candidate.variant = candidate.stem.substr(stem.size() + 1);
      candidate.stem = stem;
      return;
    }
  }
}

// "model.safetensors.index.json", or with a variant "model.safetensors.index.fp16.json".
bool parse_index_name(const std::string& file, Candidate& candidate) {
  constexpr std::string_view kIndex = ".index.";
  const std::size_t at = file.rfind(kIndex);
  if (at == std::string::npos || !file.ends_with(".json")) return false;
  const std::size_t dot = file.rfind('.', at - 1);
  if (at == 0 || dot == std::string::npos) return false;
  candidate.format = format_of(std::string_view(file).substr(dot, at - dot));
  candidate.stem = file.substr(0, dot);
  candidate.index = true;
  split_variant(candidate);
  const std::size_t from = at + kIndex.size(), to = file.size() - std::string_view(".json").size();
  if (from < to) candidate.variant = file.substr(from, to - from);
  return candidate.format != Format::none;
}

std::vector<Candidate> candidates_of(const std::vector<std::string>& names) {
  std::vector<Candidate> all;
  std::map<std::pair<std::string, std::string>, Candidate> shards;
  for (const std::string& file : names) {
    Candidate candidate;
    candidate.files = {file};
    if (parse_index_name(file, candidate)) {
      all.push_back(std::move(candidate));
      continue;
    }
    const std::size_t dot = file.rfind('.');
    if (file.starts_with('.') || dot == std::string::npos) continue;
    candidate.format = format_of(std::string_view(file).substr(dot));
    if (candidate.format == Format::none) continue;
    candidate.stem = file.substr(0, dot);
    if (ShardName shard; parse_shard_name(file, shard)) {
      Candidate& group = shards[{shard.stem, shard.extension}];
      candidate.stem = shard.stem;
      split_variant(candidate);
      candidate.files.insert(candidate.files.begin(), group.files.begin(), group.files.end());
      group = std::move(candidate);
      continue;
    }
    split_variant(candidate);
    all.push_back(std::move(candidate));
  }
  for (auto& entry : shards) {
    Candidate& group = entry.second;
    const bool indexed = std::ranges::any_of(all, [&](const Candidate& c) {
      return c.index && c.format == group.format && c.stem == group.stem &&
             c.variant == group.variant;
    });
    if (indexed) continue;
    // The reader of a split GGUF finds the others itself.
    if (group.format == Format::gguf) group.files.resize(1);
    all.push_back(std::move(group));
  }
  return all;
}

bool known(const Candidate& candidate) {
  return std::ranges::find(kStems, candidate.stem) != kStems.end();
}

}  // namespace

bool parse_shard_name(const std::string& file, ShardName& shard) {
  const std::size_t dot = file.rfind('.');
  constexpr std::string_view kPattern = "-00000-of-00000";
  if (dot == std::string::npos || dot <= kPattern.size()) return false;
  const std::string_view tail =
      std::string_view(file).substr(dot - kPattern.size(), kPattern.size());
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" ||
      !number_of(tail.substr(1, 5), shard.number) || !number_of(tail.substr(10), shard.count)) {
    return false;
  }
  shard.stem = file.substr(0, dot - kPattern.size());
  shard.extension = file.substr(dot);
  return shard.number >= 1 && shard.number <= shard.count;
}

WeightsChoice choose_weights(std::vector<std::string> names) {
  std::ranges::sort(names);
  std::vector<Candidate> all = candidates_of(names);
  WeightsChoice choice;
  if (all.empty()) return choice;
  std::ranges::stable_sort(all, {}, [](const Candidate& c) {
    return std::tuple(!known(c), !c.variant.empty(), c.format, !c.index, c.files.front());
  });
  choice.ambiguous = !known(all[0]) && all.size() > 1;
  choice.files = all[0].files;
  for (std::size_t i = 1; i < all.size(); ++i) choice.others.push_back(all[i].files.front());
  return choice;
}

}  // namespace genscope::inspect
