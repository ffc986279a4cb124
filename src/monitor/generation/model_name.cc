#include "monitor/generation/model_name.h"

#include <algorithm>
#include <span>

#include <genscope/inspect.h>
#include <genscope/predict.h>

#include "inspect/identify/rule.h"

namespace genscope::monitor {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// The family under which inspect sorts an architecture. Of one that has several (Wan, whose causal
// relatives are a family of their own) the plain one, for the name alone does not tell.
std::string_view family_in(std::span<const inspect::Rule> rules, std::string_view architecture) {
  std::string_view found;
  for (const inspect::Rule& rule : rules) {
    if (rule.architecture != architecture) continue;
    if (rule.family != Family::causal_video) return name(rule.family);
    found = name(rule.family);
  }
  return found;
}

}  // namespace

std::string_view family_of(std::string_view architecture) {
  for (const auto rules : {inspect::denoiser_rules(), inspect::video_rules(), inspect::unet_rules(),
                           inspect::newer_rules()}) {
    const std::string_view family = family_in(rules, architecture);
    if (!family.empty()) return family;
  }
  return {};
}

ModelIdentity identify_files(const std::string& path) {
  ModelIdentity found;
  const Result<Model> model = inspect_model(path);
  if (!model || model->identity.family == Family::unknown) return found;
  found.title = model->identity.title;
  found.architecture = model->identity.architecture;
  found.family = name(model->identity.family);
  return found;
}

namespace {

// "Qwen-Image-Edit" and "Qwen-Image-2512" are Qwen-Image: words are dropped from the end until the
// table knows the name.
std::optional<CostSpec> known_spec(std::string_view model_name) {
  while (!model_name.empty()) {
    if (Result<CostSpec> spec = cost_spec(model_name)) return *std::move(spec);
    const std::size_t word = model_name.find_last_of("-_ ");
    if (word == std::string_view::npos) break;
    model_name = model_name.substr(0, word);
  }
  return std::nullopt;
}

}  // namespace

ModelIdentity identify_name(std::string_view model_name) {
  ModelIdentity found;
  const std::optional<CostSpec> spec = known_spec(model_name);
  if (!spec) return found;
  found.title = spec->title;
  found.architecture = spec->architecture;
  found.family = family_of(spec->architecture);
  return found;
}

std::optional<double> default_passes(std::string_view model_name) {
  const std::optional<CostSpec> spec = known_spec(model_name);
  if (!spec) return std::nullopt;
  const Result<Prediction> p = predict(*spec, {}, hardware_table().front());
  if (!p || !p->workload.guidance_passes) return std::nullopt;
  return static_cast<double>(*p->workload.guidance_passes);
}

std::string family_title(std::string_view family) {
  if (family == "mmdit") return "MMDiT";
  if (family == "unet") return "UNet";
  if (family == "dit") return "DiT";
  return std::string(family);
}

std::string family_key(std::string_view title) { return lower(title); }

bool edits(std::string_view model_name) noexcept {
  constexpr std::string_view kWord = "edit";
  const auto same = [](char a, char b) { return (a | 0x20) == b; };
  return std::search(model_name.begin(), model_name.end(), kWord.begin(), kWord.end(), same) !=
         model_name.end();
}

}  // namespace genscope::monitor
