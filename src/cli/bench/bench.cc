// genscope bench: the list of its verbs.
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli {
namespace {

constexpr const char* kBenchFooter =
    "`genscope bench VERB --help` describes a verb. docs/bench.md shows how to prove a change.\n\n"
    "Examples:\n"
    "  genscope bench 'python gen.py'\n"
    "  genscope bench ab 'python gen.py' 'python gen.py --compile'\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage, or a suite that cannot be used\n"
    "  7    nothing was measured\n"
    "  5    the environment is unfit\n"
    "  6    the baseline is missing or cannot be compared\n"
    "  4    the command under test failed\n"
    "  1    a verdict failed: regression, target or quality\n"
    "  3    inconclusive, with --strict\n"
    "  0    all passed\n"
    "  130  interrupted\n";

class Bench final : public Command {
 public:
  Bench() {
    // One line for each verb, in the order of the help.
    verbs_.push_back(bench::make_cmd());
    verbs_.push_back(bench::make_ab());
    verbs_.push_back(bench::make_run_suite());
    verbs_.push_back(bench::make_validate());
    verbs_.push_back(bench::make_e2e());
    verbs_.push_back(bench::make_gpu());
    verbs_.push_back(bench::make_vlm());
    verbs_.push_back(bench::make_load());
    verbs_.push_back(bench::make_bench_compare());
    verbs_.push_back(bench::make_baseline());
    verbs_.push_back(bench::make_history());
    verbs_.push_back(bench::make_selfcheck());
    verbs_.push_back(bench::make_bisect());
    verbs_.push_back(bench::make_frontier());
    verbs_.push_back(bench::make_bench_import());
    verbs_.push_back(bench::make_plan());
    verbs_.push_back(bench::make_cell());
    verbs_.push_back(bench::make_gather());
    verbs_.push_back(bench::make_fixed_work());
    verbs_.push_back(bench::make_bench_report());
    verbs_.push_back(bench::make_bench_export());
  }
  const char* name() const override { return "bench"; }
  const char* summary() const override { return "Measure again and again, and judge a change"; }
  void add_options(Options& options) override { options.footer(kBenchFooter); }
  std::vector<Command*> verbs() override {
    std::vector<Command*> all;
    for (const auto& verb : verbs_) all.push_back(verb.get());
    return all;
  }
  const char* default_verb() const override { return "cmd"; }
  Result<int> run(const Globals&) override { return kBadInput; }

 private:
  std::vector<std::unique_ptr<Command>> verbs_;
};

}  // namespace

std::unique_ptr<Command> make_bench() { return std::make_unique<Bench>(); }

}  // namespace genscope::cli
