// inspect_model(): a path to a Model.

#include <algorithm>
#include <filesystem>

#include <genscope/inspect.h>

#include "base/text.h"
#include "inspect/identify/classes.h"
#include "inspect/read/folder.h"

namespace genscope {
namespace {

using inspect::ConfigValues;

bool is_denoiser(Family family) {
  return family == Family::mmdit || family == Family::dit || family == Family::unet ||
         family == Family::causal_video;
}

// Sizes that a config gives and the tensors do not, as of weights packed by quantisation.
void complete(const ConfigValues& config, Dimensions& out) {
  struct Row {
    std::string_view key;
    std::uint64_t Dimensions::*field;
  };
  constexpr Row kRows[] = {
      {"num_attention_heads", &Dimensions::heads},
      {"hidden_size", &Dimensions::width},
      {"intermediate_size", &Dimensions::ffn_width},
      {"num_hidden_layers", &Dimensions::layers},
      {"ffn_dim", &Dimensions::ffn_width},
      {"joint_attention_dim", &Dimensions::text_width},
      {"pooled_projection_dim", &Dimensions::pooled_width},
      {"latent_channels", &Dimensions::in_channels},
      {"z_dim", &Dimensions::in_channels},
  };
  for (const Row& row : kRows) {
    const std::string text(inspect::value_of(config, row.key));
    const bool number = !text.empty() && text.size() < 12 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (number && out.*row.field == 0) out.*row.field = std::stoull(text);
  }
}

Component empty_component(const inspect::Part& part) {
  Component component;
  component.name = part.name;
  return component;
}

void add_part(inspect::Part part, Model& model) {
  std::vector<Component> components;
  if (part.weights) {
    components = identify(*part.weights);
    model.container = part.weights->container;
  }
  if (components.empty()) components.push_back(empty_component(part));
  for (Component& component : components) {
    const bool whole = components.size() == 1;
    if (whole && !component.lora) {
      component.class_name = part.class_name;
      inspect::weigh_class(part.class_name, component.identity);
      if (part.weights) complete(part.config_values, component.identity.dimensions);
    }
    if (component.name.empty()) component.name = part.name;
    if (!part.files.empty()) component.files = part.files;
    model.components.push_back(std::move(component));
  }
  const std::string prefix = part.name.empty() ? "" : part.name + ": ";
  if (part.weights) {
    for (const std::string& note : part.weights->notes) model.notes.push_back(prefix + note);
  }
  for (const std::string& note : part.notes) model.notes.push_back(prefix + note);
}

std::vector<std::pair<std::string, std::string>> shortened(
    std::vector<std::pair<std::string, std::string>> metadata) {
  constexpr std::size_t kLongest = 200;  // trainers put whole logs there
  for (auto& [key, value] : metadata) {
    if (value.size() > kLongest) {
      value = std::string(base::cut_utf8(value, kLongest)).append("...");
    }
  }
  return metadata;
}

// The whole is what its denoiser is; without one, what its largest part is.
void sum_up(Model& model) {
  for (const Component& component : model.components) {
    model.parameters += component.parameters;
    model.bytes += component.bytes;
  }
  if (const Component* denoiser = model.denoiser()) {
    model.identity = denoiser->identity;
    return;
  }
  const auto largest =
      std::max_element(model.components.begin(), model.components.end(),
                       [](const Component& a, const Component& b) { return a.bytes < b.bytes; });
  if (largest != model.components.end()) model.identity = largest->identity;
}

Result<Model> inspect_folder(const std::string& path) {
  Result<inspect::Folder> folder = inspect::read_folder(path);
  if (!folder) return std::move(folder).error();
  Model model;
  model.path = path;
  model.pipeline_class = std::move(folder->pipeline_class);
  const bool one = folder->parts.size() == 1 && folder->parts.front().weights.has_value();
  if (one) model.metadata = shortened(folder->parts.front().weights->metadata);
  for (inspect::Part& part : folder->parts) add_part(std::move(part), model);
  if (!one || !model.pipeline_class.empty()) model.container = Container::folder;
  model.notes.insert(model.notes.end(), folder->notes.begin(), folder->notes.end());
  sum_up(model);
  return model;
}

}  // namespace

const Component* Model::denoiser() const noexcept {
  const auto found = std::find_if(components.begin(), components.end(), [](const Component& c) {
    return is_denoiser(c.identity.family);
  });
  return found == components.end() ? nullptr : &*found;
}

Result<Model> inspect_model(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return inspect_folder(path);
  Result<TensorFile> file = read_tensor_file(path);
  if (!file) return std::move(file).error();
  Model model;
  model.path = path;
  model.container = file->container;
  model.components = identify(*file);
  model.metadata = shortened(std::move(file->metadata));
  model.notes = std::move(file->notes);
  sum_up(model);
  return model;
}

}  // namespace genscope
