// identify(): the components of one header.

#include <fmt/format.h>

#include <algorithm>

#include "inspect/identify/lora.h"
#include "inspect/identify/match.h"
#include "inspect/identify/quantisation.h"
#include "inspect/identify/sections.h"

namespace genscope {
namespace {

using namespace inspect;  // NOLINT: the parts this file composes

void fill(Component& component, const TensorView& view, std::span<const std::string_view> buffers) {
  Contents sums = contents(view, buffers);
  component.tensors = sums.tensors;
  component.parameters = sums.parameters;
  component.elements = sums.elements;
  component.bytes = sums.bytes;
  component.dtypes = std::move(sums.dtypes);
  component.quantisation = std::move(sums.quantisation);
}

// What was looked at, when nothing fits.
Identity unknown(const TensorView& view, const std::vector<std::string>& excluded) {
  constexpr std::size_t kShown = 4;
  Identity identity;
  identity.evidence.push_back(
      fmt::format("no rule fits the names of {} tensors", view.members().size()));
  identity.evidence.insert(identity.evidence.end(), excluded.begin(), excluded.end());
  for (const std::uint32_t id : view.members().first(std::min(kShown, view.members().size()))) {
    const Tensor& tensor = view.at(id);
    identity.evidence.push_back(
        fmt::format("{} [{}]", tensor.name, fmt::join(tensor.shape.span(), ", ")));
  }
  return identity;
}

// Lets general.architecture of a GGUF file confirm, complete or contradict what the names told.
void weigh_gguf(const TensorFile& file, const Rule* rule, Identity& identity) {
  const std::string_view said = file.meta("general.architecture");
  if (file.container != Container::gguf || said.empty()) return;
  const std::string evidence = fmt::format("general.architecture = {}", said);
  if (rule != nullptr) {
    const bool agrees = std::find(rule->gguf.begin(), rule->gguf.end(), said) != rule->gguf.end();
    const bool known = !gguf_architecture(said).empty();
    if (!agrees && known) identity.confidence = Confidence::medium;
    identity.evidence.push_back(agrees || !known ? evidence : evidence + "; the names decide");
    if (identity.dimensions.heads == 0) {
      const std::string heads(file.meta(fmt::format("{}.attention.head_count", said)));
      if (!heads.empty() && heads.size() < 10 &&
          heads.find_first_not_of("0123456789") == std::string::npos) {
        identity.dimensions.heads = std::stoull(heads);
      }
    }
    return;
  }
  const std::string_view architecture = gguf_architecture(said);
  identity.evidence.push_back(evidence);
  if (architecture.empty()) return;
  const Rule* named = find_rule(architecture);
  identity.architecture = architecture;
  identity.family = named->family;
  identity.title = named->title;
  identity.confidence = Confidence::low;
}

// "FLUX.1", or of a LoRA that several models could take "FLUX.1, Chroma or HunyuanVideo".
std::string titles(const LoraFinding& finding, const Rule& target) {
  std::string text(target.title);
  for (std::size_t i = 1; i < finding.bases.size(); ++i) {
    const Rule* rule = find_rule(finding.bases[i]);
    text += i + 1 == finding.bases.size() ? " or " : ", ";
    text += rule == nullptr ? finding.bases[i] : std::string(rule->title);
  }
  return text;
}

Component identify_lora(const TensorFile& file, const TensorView& view, LoraFinding finding) {
  Component component;
  fill(component, view, {});
  Identity& identity = component.identity;
  identity.architecture = finding.lora.kind;
  identity.family = Family::lora;
  identity.confidence = finding.confidence;
  identity.variant = finding.lora.target;
  const Rule* target = find_rule(finding.lora.target);
  const std::string kind = finding.lora.kind == "lora" ? "LoRA" : finding.lora.kind;
  identity.title = target == nullptr ? fmt::format("{} for an unknown model", kind)
                   : !finding.release.empty()
                       ? fmt::format("{} for {}", kind, finding.release)
                       : fmt::format("{} for {}", kind, titles(finding, *target));
  identity.evidence = std::move(finding.evidence);
  component.lora = std::move(finding.lora);
  component.files.push_back(file.path);
  return component;
}

Component identify_section(const TensorIndex& index, const Section& section, bool only) {
  Component component;
  component.name = section.name;
  component.files.push_back(index.file().path);
  const TensorView view(index, section.members, section.prefix);
  constexpr std::size_t kMost = 6;  // rivals in the evidence
  Matching matching = match(view);
  // Of what was found it goes without saying what it does not have.
  const std::size_t told = matching.found ? matching.by_presence : matching.excluded.size();
  matching.excluded.resize(std::min(told, kMost));
  std::optional<Match>& found = matching.found;
  if (found) {
    const Names buffers = found->rule->buffers;
    fill(component, found->view, {buffers.begin(), buffers.size()});
    component.identity = std::move(found->identity);
    std::vector<std::string>& evidence = component.identity.evidence;
    evidence.insert(evidence.end(), matching.excluded.begin(), matching.excluded.end());
  } else {
    fill(component, view, {});
    component.identity = unknown(view, matching.excluded);
  }
  if (only) weigh_gguf(index.file(), found ? found->rule : nullptr, component.identity);
  return component;
}

}  // namespace

std::vector<Component> identify(const TensorFile& file) {
  const TensorIndex index(file);
  if (std::optional<LoraFinding> lora = find_lora(file)) {
    std::vector<std::uint32_t> all(file.tensors.size());
    for (std::uint32_t id = 0; id < all.size(); ++id) all[id] = id;
    std::vector<Component> one;
    one.push_back(identify_lora(file, TensorView(index, all, ""), *std::move(lora)));
    return one;
  }
  const std::vector<Section> parts = sections(file);
  std::vector<Component> components;
  components.reserve(parts.size());
  for (const Section& part : parts) {
    components.push_back(identify_section(index, part, parts.size() == 1));
  }
  return components;
}

}  // namespace genscope
