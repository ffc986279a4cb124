// genscope bench cell
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include "bench/machines/cell.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kCellFooter =
    "Runs one cell of a plan on this machine and leaves its result beside the plan. A\n"
    "cell that is measured already is not run again. The index comes from --index,\n"
    "GENSCOPE_CELL_INDEX, SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, the first that\n"
    "is set.\n\n"
    "Exit codes, as of `genscope bench run`:\n"
    "  0    measured, or measured before\n"
    "  1    a verdict failed\n"
    "  2    usage, or a plan that cannot be used\n"
    "  4    the command under test failed\n"
    "  5    the environment is unfit\n"
    "  6    the baseline is missing or cannot be compared\n"
    "  7    nothing was measured\n"
    "  130  interrupted\n";

class CellVerb final : public Command {
 public:
  const char* name() const override { return "cell"; }
  const char* summary() const override { return "Run one cell of a plan"; }

  void add_options(Options& options) override {
    options.add("PLAN", plan_, "", "Made by `genscope bench plan`").required();
    options.add("--index", index_, "N", "Which cell, from 0");
    options.add("--every", every_, "M", "Run the cells N, N + M, N + 2 M, ... one after the other")
        .positive();
    options.add("--out", out_, "DIR", "Where results go; default: the folder of the plan");
    options.flag("--again", again_, "Run it although it is measured");
    options.footer(kCellFooter);
  }

  Result<int> run(const Globals& globals) override {
    const Result<genscope::bench::Plan> plan = genscope::bench::read_plan(plan_);
    if (!plan) return plan.error();
    if (!index_) {
      const Result<std::optional<std::uint64_t>> found = genscope::bench::index_from_environment();
      if (!found) return found.error();
      index_ = *found;
    }
    if (!index_ || *index_ >= plan->cells.size()) return bad_index(plan->cells.size());
    if (out_.empty()) out_ = std::filesystem::absolute(plan_).parent_path().string();
    int code = kFine;
    for (std::uint64_t i = *index_; i < plan->cells.size();
         i += every_.value_or(plan->cells.size())) {
      const Result<genscope::bench::CellRun> done =
          genscope::bench::run_cell(*plan, i, {.folder = out_, .again = again_});
      if (!done) return done.error();
      if (!globals.quiet) tell(plan->cells[i].id, *done);
      code = genscope::bench::worse_exit(code, done->exit.code);
      if (done->exit.code == kInterrupted) return kInterrupted;
    }
    return code;
  }

 private:
  Error bad_index(std::size_t cells) const {
    if (!index_) {
      return {ErrorCode::invalid_argument,
              "which cell? Give --index, or set GENSCOPE_CELL_INDEX; Slurm's arrays and "
              "Kubernetes' Indexed Jobs set it themselves"};
    }
    return {ErrorCode::invalid_argument,
            fmt::format("there is no cell {}; the plan has {}, from 0", *index_, cells)};
  }

  static void tell(const std::string& id, const genscope::bench::CellRun& done) {
    if (done.was_done) {
      std::fprintf(stderr, "%s: measured already\n", id.c_str());
      return;
    }
    std::fprintf(stderr, "%s: %s\n", id.c_str(), done.result_path.c_str());
    for (const std::string& reason : done.exit.reasons) {
      std::fprintf(stderr, "  %s\n", reason.c_str());
    }
  }

  std::string plan_, out_;
  std::optional<std::uint64_t> index_, every_;
  bool again_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cell() { return std::make_unique<CellVerb>(); }

}  // namespace genscope::cli::bench
