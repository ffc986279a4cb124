// genscope bench validate RESULT|SUITE
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/terminal.h"
#include "bench/suite/suite.h"
#include "bench/suite/suite_folder.h"
#include "bench/suite/targets.h"
#include "bench/suite/targets_text.h"
#include "cli/bench/ci_flags.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kValidateFooter =
    "RESULT is a result by path, id, the beginning of an id, the name of a baseline, or\n"
    "`last`; SUITE is a suite file: its newest result is judged by what the file says now.\n"
    "A score is 100 where the target is met, else target / measured in percent (or the\n"
    "reverse where more is better); the total is their weighted geometric mean. `sure`\n"
    "says whether the whole interval meets the target, not just the estimate.\n\n"
    "Examples:\n"
    "  genscope bench validate suite.yaml\n"
    "  genscope bench validate last --suite suite.yaml --json\n\n"
    "Exit codes:\n"
    "  0    all targets are met\n"
    "  1    a target is missed\n"
    "  2    usage, or an input that cannot be used\n"
    "  3    a target is open, with --strict\n"
    "  6    there is no result, or no baseline\n"
    "  7    there is no target to judge, or none was measured\n";

bool is_suite_file(const std::string& word) {
  return (word.ends_with(".yaml") || word.ends_with(".yml")) && std::filesystem::exists(word);
}

class Validate final : public Command {
 public:
  const char* name() const override { return "validate"; }
  const char* summary() const override { return "Judge targets, with scores from 0 to 100"; }

  void add_options(Options& options) override {
    options.add("RESULT", what_, "", "Result, or suite file").required();
    options.add("--suite", suite_, "FILE", "Judge by the targets of this suite");
    options.add("--out", out_, "DIR", "Where runs of suites are").show_default();
    options.flag("--strict", options_.strict, "Exit with 3 if a target is open");
    options.flag("--json", json_, "Print the result with its targets as JSON");
    ci_.add_options(options);
    options.footer(kValidateFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (suite_.empty() && is_suite_file(what_)) suite_ = what_;
    Result<core::BenchResult> result = suite_ == what_ ? newest_of_suite() : load();
    if (!result) {
      fail(result.error());
      return core::kNoBaseline;
    }
    if (!suite_.empty()) {
      const Result<core::Suite> suite = core::read_suite(suite_);
      if (!suite) return suite.error();
      judge(*suite, *result);
    } else {
      keep_targets(*result);
    }
    return print(*result, globals);
  }

 private:
  Result<core::BenchResult> load() const {
    if (std::filesystem::exists(what_)) return core::read_result(what_);
    return core::find_result(what_);
  }

  Result<core::BenchResult> newest_of_suite() const {
    const Result<core::Suite> suite = core::read_suite(suite_);
    if (!suite) return suite.error();
    const std::string folder = core::newest_suite_folder(*suite, out_);
    if (folder.empty()) {
      return Error{ErrorCode::not_found,
                   fmt::format("{} has no result in {}; `genscope bench run {}` makes one",
                               suite->name, out_, suite_)};
    }
    return core::read_result(folder + "/result.json");
  }

  // Targets alone: `bench compare` judges changes.
  void judge(const core::Suite& suite, core::BenchResult& result) const {
    std::vector<std::string> missing;
    result.targets = core::judge_targets(suite, result, core::find_result, missing);
    core::score_targets(result);
    keep_targets(result);
    for (const std::string& why : missing) {
      result.exit.code = core::worse_exit(result.exit.code, core::kNoBaseline);
      result.exit.reasons.push_back(why);
    }
  }

  void keep_targets(core::BenchResult& result) const {
    core::BenchResult targets;
    targets.cells = result.cells;
    targets.targets = result.targets;
    for (core::Cell& cell : targets.cells) cell.status = "ok";  // failures were judged by the run
    result.exit = core::decide_exit(targets, options_.strict);
    const bool measured =
        std::any_of(result.targets.begin(), result.targets.end(),
                    [](const core::TargetResult& target) { return target.value.has_value(); });
    if (measured) return;
    result.exit.code = core::worse_exit(result.exit.code, core::kNothingMeasured);
    result.exit.reasons.insert(result.exit.reasons.begin(), result.targets.empty()
                                                                ? "There is no target."
                                                                : "No target was measured.");
  }

  Result<int> print(const core::BenchResult& result, const Globals& globals) const {
    if (result.targets.empty()) {
      std::fprintf(stderr, "genscope: %s has no target; name a suite with --suite\n",
                   what_.c_str());
    }
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    if (json_) {
      output->sink()(core::to_json(result));
    } else if (!result.targets.empty()) {
      output->sink()(core::targets_text(result, static_cast<std::size_t>(base::output_width()),
                                        base::use_color(globals.color)));
    }
    if (const Status done = output->commit(); !done) return done.error();
    if (const Status done = ci_.write(result, json_); !done) return done.error();
    return result.exit.code;
  }

  std::string what_, suite_;
  std::string out_ = "genscope-bench";
  bool json_ = false;
  CiFlags ci_;
  core::SuiteOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_validate() { return std::make_unique<Validate>(); }

}  // namespace genscope::cli::bench
