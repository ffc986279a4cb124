// genscope list
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "serve/run_figures.h"
#include "serve/run_list_text.h"
#include "serve/run_names.h"

namespace genscope::cli {
namespace {

class List final : public Command {
 public:
  const char* name() const override { return "list"; }
  const char* summary() const override { return "Your runs, newest first"; }

  void add_options(Options& options) override {
    options.add("DIR", folder_, "", "Folder of runs; default: $GENSCOPE_OUT, else ./genscope-runs");
    options.add("-n,--newest", newest_, "N", "At most so many").positive();
    options.add("--tag", tag_, "TAG", "Only runs with this tag");
    options.flag("--json", json_, "Print {\"runs\": [...]}");
    options.footer(
        std::string(
            "The first run is `last`, the next `last~1`. Other commands take these for RUN,\n"
            "and names, and the start of a name that no other run has.\n\n"
            "Examples:\n"
            "  genscope list -n 10\n"
            "  genscope list --tag baseline --json | jq -r '.runs[].path'\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    const std::string folder = folder_.empty() ? serve::default_folder() : folder_;
    std::error_code ignored;
    if (folder_.empty() && !std::filesystem::exists(folder, ignored)) return none(folder, globals);
    Result<std::vector<serve::RunEntry>> runs = serve::list_runs(folder);
    if (!runs) return runs.error();
    const std::size_t all = runs->size();
    std::erase_if(*runs, [this](const serve::RunEntry& run) {
      return !tag_.empty() && std::find(run.tags.begin(), run.tags.end(), tag_) == run.tags.end();
    });
    if (newest_ > 0 && runs->size() > newest_) runs->resize(newest_);
    // What is noted of runs that are not shown stays.
    const auto figures = serve::figures_of(*runs, folder, all == runs->size());
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    if (json_) {
      output->sink()(serve::runs_json(*runs, figures, true) + "\n");
      return kFine;
    }
    if (runs->empty()) return none(folder, globals);
    output->sink()(serve::runs_text(*runs, figures, static_cast<std::size_t>(base::output_width()),
                                    base::use_color(globals.color)));
    return kFine;
  }

 private:
  int none(const std::string& folder, const Globals& globals) const {
    if (json_) {
      std::puts(serve::runs_json({}).c_str());
    } else if (!globals.quiet) {
      std::fprintf(stderr, "genscope: there is no %srun in %s; record one: genscope run -- CMD\n",
                   tag_.empty() ? "" : "such ", folder.c_str());
    }
    return kFine;
  }

  std::string folder_, tag_;
  std::uint64_t newest_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_list() { return std::make_unique<List>(); }

}  // namespace genscope::cli
