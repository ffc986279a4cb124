#include "inspect/identify/sections.h"

#include <algorithm>
#include <numeric>

namespace genscope::inspect {
namespace {

struct Beginning {
  std::string_view prefix;
  std::string_view name;
  bool numbered = false;  // the next word of the name belongs to the prefix
  bool beside = false;    // a section only beside a denoiser: others use the word too
};
constexpr Beginning kBeginnings[] = {
    {"model.diffusion_model.", "diffusion_model"},
    {"model_ema.", "model_ema"},
    {"control_model.", "control_model"},
    {"first_stage_model.", "vae"},
    {"cond_stage_model.", "text_encoder"},
    {"conditioner.embedders.", "text_encoder", true},
    {"text_encoders.", "", true},
    {"vae.", "vae", false, true},
    {"audio_vae.", "audio_vae", false, true},
    {"vocoder.", "vocoder", false, true},
};

const Beginning* beginning_of(std::string_view name) {
  for (const Beginning& row : kBeginnings) {
    if (name.starts_with(row.prefix)) return &row;
  }
  return nullptr;
}

std::string_view prefix_of(const Beginning& row, std::string_view name) {
  if (!row.numbered) return row.prefix;
  const std::size_t dot = name.find('.', row.prefix.size());
  return dot == std::string_view::npos ? row.prefix : name.substr(0, dot + 1);
}

std::string title_of(const Beginning& row, std::string_view prefix) {
  if (!row.numbered || prefix.size() <= row.prefix.size()) return std::string(row.name);
  const std::string_view word =
      prefix.substr(row.prefix.size(), prefix.size() - row.prefix.size() - 1);
  if (row.name.empty()) return std::string(word);
  return word == "0" ? std::string(row.name) : std::string(row.name).append("_").append(word);
}

std::vector<Section> whole(const TensorFile& file) {
  Section all;
  all.members.resize(file.tensors.size());
  std::iota(all.members.begin(), all.members.end(), 0U);
  return {std::move(all)};
}

}  // namespace

std::vector<Section> sections(const TensorFile& file) {
  constexpr std::size_t kMost = 32;  // more networks are in no file that means well
  const bool denoiser = std::any_of(
      file.tensors.begin(), file.tensors.end(),
      [](const Tensor& tensor) { return tensor.name.starts_with(kBeginnings[0].prefix); });
  std::vector<Section> found;
  Section rest{.name = "rest", .prefix = {}, .members = {}};
  std::size_t last = 0;  // neighbours mostly belong together
  for (std::uint32_t id = 0; id < file.tensors.size(); ++id) {
    const std::string_view name = file.tensors[id].name;
    if (last < found.size() && name.starts_with(found[last].prefix)) {
      found[last].members.push_back(id);
      continue;
    }
    const Beginning* row = beginning_of(name);
    if (row == nullptr || (row->beside && !denoiser)) {
      rest.members.push_back(id);
      continue;
    }
    const std::string_view prefix = prefix_of(*row, name);
    for (last = 0; last < found.size() && found[last].prefix != prefix;) ++last;
    if (last == kMost) {
      rest.members.push_back(id);
      continue;
    }
    if (last == found.size()) found.push_back({title_of(*row, prefix), std::string(prefix), {}});
    found[last].members.push_back(id);
  }
  const bool several = found.size() >= 2 || denoiser;
  if (found.empty() || (!several && !rest.members.empty())) return whole(file);
  if (found.size() == 1 && rest.members.empty()) found.front().name.clear();
  if (!rest.members.empty()) found.push_back(std::move(rest));
  return found;
}

}  // namespace genscope::inspect
