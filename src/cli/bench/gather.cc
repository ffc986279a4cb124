// genscope bench gather
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "bench/machines/gather.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kGatherFooter =
    "Puts the results of a plan's cells together, names those that are missing, and\n"
    "judges as `genscope bench run` does. Machines of different classes (GPU, driver,\n"
    "...) give a result each: their figures are never mixed.\n\n"
    "Examples:\n"
    "  genscope bench gather /shared -o result.json\n"
    "  genscope bench gather /shared --strict && genscope bench baseline set main result.json\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage, or a plan that cannot be used\n"
    "  7    nothing was measured\n"
    "  4    a command under test failed, or a cell has no result\n"
    "  1    a verdict failed\n"
    "  3    inconclusive, with --strict\n"
    "  0    all passed\n";

class GatherVerb final : public Command {
 public:
  const char* name() const override { return "gather"; }
  const char* summary() const override { return "Put the cells of a plan together"; }

  void add_options(Options& options) override {
    options.add("DIR", folder_, "", "Folder with the plan and the results").required();
    options.add("--plan", plan_, "PATH", "The plan; default: DIR/plan.json");
    options.add("-o,--output", output_, "PATH", "Where the result goes").show_default();
    options.flag("--strict", strict_, "Inconclusive verdicts decide the exit code, too");
    options.footer(kGatherFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (plan_.empty()) plan_ = folder_ + "/plan.json";
    const Result<genscope::bench::Plan> plan = genscope::bench::read_plan(plan_);
    if (!plan) return plan.error();
    Result<genscope::bench::Gathered> all = genscope::bench::gather(*plan, folder_, strict_);
    if (!all) return all.error();
    for (const std::string& note : all->notes) std::fprintf(stderr, "genscope: %s\n", note.c_str());
    for (const genscope::bench::BenchResult& result : all->results) {
      const std::string path = path_for(result, all->results.size());
      const Status written = genscope::bench::write_result(result, path);
      if (!written) return written.error();
      if (const Status kept = genscope::bench::remember(result); !kept) {
        std::fprintf(stderr, "genscope: %s\n", kept.error().message.c_str());
      }
      if (!globals.quiet) {
        std::fprintf(stderr, "%s: %zu cells%s%s\n", path.c_str(), result.cells.size(),
                     all->results.size() > 1 ? ", " : "",
                     all->results.size() > 1 ? result.environment.klass.c_str() : "");
      }
    }
    for (const std::string& reason : all->exit.reasons) {
      std::fprintf(stderr, "genscope: %s\n", reason.c_str());
    }
    return all->exit.code;
  }

 private:
  // One class: as it was asked for. Several: result-<class>.json.
  std::string path_for(const genscope::bench::BenchResult& result, std::size_t classes) const {
    if (classes == 1) return output_;
    const std::filesystem::path path(output_);
    return (path.parent_path() / fmt::format("{}-{}{}", path.stem().string(),
                                             base::file_name_from(result.environment.klass, 60),
                                             path.extension().string()))
        .string();
  }

  std::string folder_, plan_, output_ = "result.json";
  bool strict_ = false;
};

}  // namespace

std::unique_ptr<Command> make_gather() { return std::make_unique<GatherVerb>(); }

}  // namespace genscope::cli::bench
