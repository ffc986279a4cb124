#include "inspect/read/folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "inspect/read/readers.h"
#include "inspect/read/sharded.h"
#include "inspect/read/weights_choice.h"

namespace genscope::inspect {
namespace {

namespace fs = std::filesystem;

std::string join(const std::vector<std::string>& names) {
  constexpr std::size_t kListed = 6;
  std::string out;
  for (std::size_t i = 0; i < std::min(kListed, names.size()); ++i) {
    out += (i > 0 ? ", " : "") + names[i];
  }
  return names.size() > kListed ? out + " and " + std::to_string(names.size() - kListed) + " more"
                                : out;
}

// Regular files by name, links followed.
Result<std::vector<std::string>> files_of(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> names;
  fs::directory_iterator at(folder, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) names.push_back(at->path().filename().string());
  }
  if (failed) return base::errno_error("cannot list folder", folder, failed.value());
  return names;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

template <class T>
Result<T> parse_file(const std::string& path, Result<T> (*parse)(const ByteSource&)) {
  const auto source = FileSource::open(path);
  if (!source) return source.error();
  return parse(**source);
}

void read_part_config(const std::string& folder, const std::vector<std::string>& names,
                      Part& part) {
  for (const char* const name :
       {"config.json", "scheduler_config.json", "adapter_config.json", "tokenizer_config.json",
        "preprocessor_config.json", "processor_config.json"}) {
    if (!has(names, name)) continue;
    part.config = folder + "/" + name;
    break;
  }
  if (part.config.empty()) return;
  Result<ConfigValues> values = parse_file(part.config, parse_config);
  if (!values) {
    part.notes.push_back(values.error().message);
    return;
  }
  part.config_values = std::move(*values);
  if (!part.class_name.empty()) return;
  for (const char* const key : {"_class_name", "architectures", "model_type"}) {
    part.class_name = value_of(part.config_values, key);
    if (!part.class_name.empty()) return;
  }
}

Result<TensorFile> read_set(const std::string& folder, const WeightsChoice& choice, Part& part) {
  Union all;
  for (const std::string& name : choice.files) {
    Result<TensorFile> file = read_model_file(folder + "/" + name, &part.files);
    if (!file || choice.files.size() == 1) return file;
    all.add(std::move(*file));
    ShardName shard;
    if (name == choice.files.front() && parse_shard_name(name, shard) &&
        shard.count != choice.files.size()) {
      part.notes.push_back(std::to_string(choice.files.size()) + " of " +
                           std::to_string(shard.count) + " shards are there, the rest is missing");
    }
  }
  all.whole().container = Container::sharded;
  return all.finish(MemorySource(folder + "/" + choice.files.front(), ""));
}

// A sentence why there are no weights, if there should be some.
Status read_part_weights(const std::string& folder, const std::vector<std::string>& names,
                         Part& part) {
  const WeightsChoice choice = choose_weights(names);
  if (choice.files.empty()) {
    return Error{ErrorCode::not_found, folder + " holds no weights; fetch them into it"};
  }
  if (choice.ambiguous && part.name.empty()) {
    return Error{ErrorCode::invalid_argument, folder + " holds several models (" +
                                                  choice.files.front() + ", " +
                                                  join(choice.others) + "); name one of them"};
  }
  Result<TensorFile> weights = read_set(folder, choice, part);
  if (!weights) return std::move(weights).error();
  part.weights = std::move(*weights);
  if (!choice.others.empty()) {
    part.notes.push_back("read " + choice.files.front() + "; not counted: " + join(choice.others));
  }
  return Done{};
}

bool has_no_weights(std::string_view class_name) {
  if (class_name.ends_with("Scheduler")) return true;
  for (const char* const word : {"Tokenizer", "Processor", "FeatureExtractor"}) {
    if (class_name.find(word) != std::string_view::npos) return true;
  }
  return false;
}

Part read_component(const std::string& folder, const std::string& name, std::string class_name) {
  Part part;
  part.name = name;
  part.class_name = std::move(class_name);
  const std::string place = folder + "/" + name;
  const Result<std::vector<std::string>> names = files_of(place);
  if (!names) {
    part.notes.push_back(names.error().message);
    return part;
  }
  read_part_config(place, *names, part);
  if (has_no_weights(part.class_name) && choose_weights(*names).files.empty()) return part;
  if (Status read = read_part_weights(place, *names, part); !read) {
    part.notes.push_back(read.error().message);
  }
  return part;
}

Result<Folder> read_pipeline(const std::string& path, const std::vector<std::string>& names) {
  Result<PipelineIndex> index = parse_file(path + "/model_index.json", parse_pipeline_index);
  if (!index) return index.error();
  Folder folder;
  folder.pipeline_class = std::move(index->class_name);
  folder.config_values = std::move(index->values);
  for (auto& [name, class_name] : index->components) {
    folder.parts.push_back(read_component(path, name, std::move(class_name)));
  }
  const WeightsChoice beside = choose_weights(names);
  if (!beside.files.empty()) {
    std::vector<std::string> all = beside.files;
    all.insert(all.end(), beside.others.begin(), beside.others.end());
    folder.notes.push_back("beside the parts, not counted: " + join(all));
  }
  return folder;
}

}  // namespace

Result<Folder> read_folder(const std::string& path) {
  std::string place = path;
  while (place.size() > 1 && place.ends_with('/')) place.pop_back();
  const Result<std::vector<std::string>> names = files_of(place);
  if (!names) return names.error();
  if (has(*names, "model_index.json")) return read_pipeline(place, *names);
  Part part;
  read_part_config(place, *names, part);
  if (Status read = read_part_weights(place, *names, part); !read) {
    const bool empty = read.error().code == ErrorCode::not_found;
    if (part.config.empty() && empty) {
      return Error{ErrorCode::not_found, place +
                                             " holds no model_index.json, config.json or model "
                                             "file; name the folder of one model"};
    }
    if (!empty) return std::move(read).error();
    part.notes.push_back(read.error().message);
  }
  Folder folder;
  folder.parts.push_back(std::move(part));
  return folder;
}

}  // namespace genscope::inspect
