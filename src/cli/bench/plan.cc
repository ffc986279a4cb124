// genscope bench plan
#include <fmt/format.h>

#include <cstdio>

#include "base/file.h"
#include "bench/machines/launch.h"
#include "bench/machines/plan.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kPlanFooter =
    "Cuts a suite into cells that other machines run with `genscope bench cell`, each\n"
    "by its index. Put the plan into a folder that all of them see; the results stand\n"
    "beside it, and `genscope bench gather` puts them together. docs/bench-machines.md\n"
    "has examples for Slurm, Kubernetes, Ray and Dask.\n\n"
    "Examples:\n"
    "  genscope bench plan suite.yaml -o /shared/plan.json\n"
    "  sbatch --array=0-35 --wrap 'genscope bench cell /shared/plan.json'\n"
    "  genscope bench plan suite.yaml -o /shared/plan.json --kubernetes --image team/bench:1 \\\n"
    "    --volume-claim runs | kubectl apply -f -\n\n"
    "Exit codes:\n"
    "  0    planned\n"
    "  2    usage, or a suite that cannot be used\n"
    "  5    the environment: no space, an I/O error\n";

class PlanVerb final : public Command {
 public:
  const char* name() const override { return "plan"; }
  const char* summary() const override { return "Cut a suite into cells for other machines"; }

  void add_options(Options& options) override {
    options.add("SUITE", suite_, "", "Suite file").required();
    options.add("-o,--output", output_, "PATH", "Where the plan goes").show_default();
    options.add("--only", only_, "CONDITION", "Keep the cells for which this holds");
    options.add("--seed", seed_, "N", "Seed of every random choice").show_default();
    Option kubernetes = options.flag("--kubernetes", kubernetes_, "Print an Indexed Job, too");
    options.add("--image", launch_.image, "IMAGE", "With --kubernetes: what the pods run")
        .needs(kubernetes);
    options
        .add("--volume-claim", launch_.volume_claim, "NAME",
             "With --kubernetes: the volume that holds the plan")
        .needs(kubernetes);
    options.footer(kPlanFooter);
  }

  Result<int> run(const Globals& globals) override {
    const Result<std::string> text = base::read_file(suite_);
    if (!text) return text.error();
    const Result<genscope::bench::Suite> suite = genscope::bench::parse_suite(*text, suite_);
    if (!suite) return suite.error();
    const Result<genscope::bench::Plan> plan =
        genscope::bench::make_plan(*suite, *text, seed_, only_);
    if (!plan) return plan.error();
    const Status written = base::write_file(output_, genscope::bench::to_json(*plan));
    if (!written) return written.error();
    if (!globals.quiet) {
      std::fprintf(stderr, "%zu cells are planned, %zu left out: %s\n", plan->cells.size(),
                   plan->skipped.size(), output_.c_str());
    }
    if (!kubernetes_) return kFine;
    if (launch_.image.empty() || launch_.volume_claim.empty()) {
      return Error{ErrorCode::invalid_argument, "--kubernetes needs --image and --volume-claim"};
    }
    launch_.genscope = "genscope";
    launch_.plan_path = base::absolute_path(output_);
    std::fputs(genscope::bench::kubernetes_job(*plan, launch_).c_str(), stdout);
    return kFine;
  }

 private:
  std::string suite_, output_ = "plan.json", only_;
  std::uint64_t seed_ = 1;
  bool kubernetes_ = false;
  genscope::bench::LaunchOptions launch_;
};

}  // namespace

std::unique_ptr<Command> make_plan() { return std::make_unique<PlanVerb>(); }

}  // namespace genscope::cli::bench
