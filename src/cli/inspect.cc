// genscope inspect

#include <genscope/inspect.h>

#include <unordered_set>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/inspect/view.h"
#include "cli/output.h"

namespace genscope::cli {
namespace {

class Inspect final : public Command {
 public:
  const char* name() const override { return "inspect"; }
  const char* summary() const override { return "Say what a model file or folder is"; }

  void add_options(Options& options) override {
    options
        .add("PATH", path_, "", "Model file (.safetensors, its index, .gguf, .pt, .ckpt) or folder")
        .required();
    options.flag("--json", json_, "Print one JSON document");
    options.flag("--tensors", tensors_, "List every tensor too");
    options.footer(
        std::string("Reads headers only: architecture, variant and family with the evidence,\n"
                    "parameters, bytes, dtypes and quantisation of each part. No weight is\n"
                    "read and nothing is executed. What no rule fits is called unknown.\n\n"
                    "Examples:\n"
                    "  genscope inspect models/FLUX.1-dev\n"
                    "  genscope inspect model.safetensors --json | jq .identity\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    const Result<Model> model = inspect_model(path_);
    if (!model) return model.error();
    std::vector<TensorFile> files;
    if (tensors_) {
      Result<std::vector<TensorFile>> read = read_files(*model);
      if (!read) return read.error();
      files = *std::move(read);
    }
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    const watch::Look look = {.width = static_cast<std::size_t>(base::output_width()),
                              .color = base::use_color(globals.color),
                              .unicode = base::output_is_utf8()};
    output->sink()(json_ ? to_json(*model, files) : inspect::model_text(*model, files, look));
    return kFine;
  }

 private:
  // The headers behind a model, each tensor once: an index lists those of its shards too.
  static Result<std::vector<TensorFile>> read_files(const Model& model) {
    std::vector<TensorFile> files;
    std::unordered_set<std::string> paths;
    for (const Component& component : model.components) {
      std::unordered_set<std::string> seen;
      for (const std::string& path : component.files) {
        const bool index = path.ends_with(".json") && component.files.size() > 1;
        if (index || !paths.insert(path).second) continue;
        Result<TensorFile> file = read_tensor_file(path);
        if (!file) return std::move(file).error();
        std::erase_if(file->tensors,
                      [&](const Tensor& tensor) { return !seen.emplace(tensor.name).second; });
        files.push_back(*std::move(file));
      }
    }
    return files;
  }

  std::string path_;
  bool json_ = false;
  bool tensors_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect() { return std::make_unique<Inspect>(); }

}  // namespace genscope::cli
