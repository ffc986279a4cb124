// genscope bench run SUITE
#include <fmt/format.h>

#include <cstdio>

#include "base/terminal.h"
#include "bench/output/output.h"
#include "bench/run/quantities.h"
#include "bench/suite/suite.h"
#include "cli/bench/dry_run.h"
#include "cli/bench/launch.h"
#include "cli/bench/live_view.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kRunSuiteFooter =
    "A suite is a YAML file: what to measure, over which matrix, how often, what must hold.\n"
    "docs/bench-suite.md describes it. All cells are measured in turns, first each one as\n"
    "often as `processes.min` says, then those whose interval is still too wide. The\n"
    "journal in the run's folder is written as it goes: a run that was killed goes on with\n"
    "--resume, and no unit is measured twice.\n\n"
    "Examples:\n"
    "  genscope bench run suite.yaml --dry-run\n"
    "  genscope bench run suite.yaml --budget 20m --export junit=junit.xml\n"
    "  genscope bench run suite.yaml --only 'size.pixels > 1000000 && batch == 1'\n"
    "  genscope bench run suite.yaml --resume genscope-bench/nightly-20260131-020000\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage, or a suite that cannot be used\n"
    "  7    nothing was measured\n"
    "  5    the environment is unfit\n"
    "  6    the baseline is missing or cannot be compared\n"
    "  4    what was measured failed\n"
    "  1    a verdict failed: regression, target, quality or SLO\n"
    "  3    inconclusive, with --strict\n"
    "  0    all passed\n"
    "  130  interrupted; --resume goes on\n";

class RunSuite final : public Command {
 public:
  const char* name() const override { return "run"; }
  const char* summary() const override { return "Measure a suite: a matrix with targets"; }

  void add_options(Options& options) override {
    options.add("SUITE", suite_, "", "Suite file").required();
    options.flag("--dry-run", dry_run_, "Print the cells and how long it takes; measure nothing");
    options.add("--budget", budget_, "TIME", "Begin no unit after this long: 90s, 20m, 1h");
    options.add("--only", options_.only, "EXPR", "Only cells for which this holds: 'steps > 10'");
    options.add("--resume", options_.resume, "DIR", "Go on with the run in this folder");
    options.add("--out", options_.out, "DIR", "Where the run's folder is made").show_default();
    options.add("--seed", options_.seed, "N", "Seed of the samples and the order").show_default();
    options.flag("--retry-oom", options_.retry_oom, "Try again what ran out of memory before");
    options.flag("--strict", options_.strict, "Exit with 3 if something is not decided");
    options.flag("--verbose", verbose_, "Say how far it is, also where no terminal is");
    launching_.add_options(options);
    outputs_.add_options(options, "the run's folder");
    options.footer(kRunSuiteFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (const Status checked = outputs_.check(); !checked) return checked.error();
    if (!budget_.empty()) {
      options_.budget_s = core::duration_in(budget_);
      if (!options_.budget_s || *options_.budget_s <= 0) {
        return Error{ErrorCode::invalid_argument,
                     fmt::format("--budget {}: not a time; write 90s, 20m or 1h", budget_)};
      }
    }
    const Result<core::Suite> suite = core::read_suite(suite_);
    if (!suite) return suite.error();
    if (dry_run_) return dry_run(*suite, options_, outputs_.json(), globals);
    options_.keep = outputs_.keep();
    if (launching_.wanted()) return launch(*suite, globals);
    Result<core::SuiteRun> made = measure(*suite, globals);
    if (!made) return made.error();
    return finish(*made, globals);
  }

 private:
  Result<int> launch(const core::Suite& suite, const Globals& globals) {
    const Result<std::string> folder = launching_.plan(suite_, suite, options_);
    if (!folder) return folder.error();
    if (launching_.prints_only()) {
      const Result<std::string> job = launching_.job();
      if (!job) return job.error();
      std::fputs(job->c_str(), stdout);
      return kFine;
    }
    Result<Launched> done = launching_.run(options_.strict);
    if (!done) return done.error();
    for (const std::string& note : done->gathered.notes) {
      std::fprintf(stderr, "genscope: %s\n", note.c_str());
    }
    for (core::BenchResult& result : done->gathered.results) {
      core::SuiteRun one;
      one.folder = done->folder;
      one.result = std::move(result);
      if (options_.keep) {
        if (const Status kept = core::remember(one.result); !kept) {
          one.notes.push_back(kept.error().message);
        }
      }
      const Result<int> shown = finish(one, globals);
      if (!shown) return shown.error();
    }
    for (const std::string& reason : done->gathered.exit.reasons) {
      std::fprintf(stderr, "genscope: %s\n", reason.c_str());
    }
    return done->gathered.exit.code;
  }

  Result<core::SuiteRun> measure(const core::Suite& suite, const Globals& globals) const {
    const Interruptible interruptible;
    LiveView view(globals.quiet, verbose_);
    view.begin(suite.name);
    return core::run_suite(suite, options_, [&](const core::SuiteProgress& told) {
      view.tell(fmt::format("{} of {} cells done, unit {}, {}", told.cells_done, told.cells,
                            told.units_done, told.cell),
                told.eta_s);
      return true;
    });
  }

  Result<int> finish(core::SuiteRun& made, const Globals& globals) const {
    for (const std::string& note : made.notes) {
      std::fprintf(stderr, "genscope: %s\n", note.c_str());
    }
    if (made.interrupted) {
      std::fprintf(stderr,
                   "genscope: interrupted; go on with\n  genscope bench run %s --resume %s\n",
                   suite_.c_str(), made.folder.c_str());
      return kInterrupted;
    }
    if (const Status done = outputs_.write_exports(made.result); !done) return done.error();
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    if (outputs_.json()) {
      core::result_json(made.result, {}, output->sink());
    } else {
      core::result_text(
          made.result,
          {.width = base::output_width(), .color = base::use_color(globals.color), .all = false},
          output->sink());
      if (!globals.quiet) output->sink()(fmt::format("\nResult: {}/result.json\n", made.folder));
    }
    if (const Status done = output->commit(); !done) return done.error();
    if (const Status done = outputs_.ci().write(made.result, outputs_.json(), made.folder); !done) {
      return done.error();
    }
    return made.result.exit.code;
  }

  std::string suite_, budget_;
  bool dry_run_ = false, verbose_ = false;
  core::SuiteOptions options_;
  Launching launching_;
  ResultOutputs outputs_;
};

}  // namespace

std::unique_ptr<Command> make_run_suite() { return std::make_unique<RunSuite>(); }

}  // namespace genscope::cli::bench
