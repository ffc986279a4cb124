// A model as a folder: diffusers (model_index.json, one sub-folder for each part), transformers
// (config.json beside the weights), or a folder with one model file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "genscope/inspect.h"
#include "inspect/read/byte_source.h"

namespace genscope::inspect {

// Entries of a JSON document as text: "hidden_size" "3072". Those of inner objects have dotted keys
// ("text_config.hidden_size"); a short array of scalars is joined by commas, of a longer one or a
// nested one the length is given: "array[40]". Null entries are left out.
using ConfigValues = std::vector<std::pair<std::string, std::string>>;
std::string_view value_of(const ConfigValues& values, std::string_view key) noexcept;
Result<ConfigValues> parse_config(const ByteSource& source);

struct Part {
  std::string name;        // its sub-folder; "" if it is the folder itself
  std::string class_name;  // of model_index.json, else of its config
  std::string config;      // path, "" if none
  ConfigValues config_values;
  std::optional<TensorFile> weights;  // none: scheduler, tokenizer, or `notes` say why
  std::vector<std::string> files;     // that hold the weights
  std::vector<std::string> notes;
};

struct Folder {
  std::string pipeline_class;  // "" without model_index.json
  ConfigValues config_values;  // of model_index.json, components left out
  std::vector<Part> parts;     // in the order of model_index.json
  std::vector<std::string> notes;
};

Result<Folder> read_folder(const std::string& path);

// Components of a model_index.json: name, class. Absent ones ([null, null]) are left out.
struct PipelineIndex {
  std::string class_name;
  ConfigValues values;
  std::vector<std::pair<std::string, std::string>> components;
};
Result<PipelineIndex> parse_pipeline_index(const ByteSource& source);

}  // namespace genscope::inspect
