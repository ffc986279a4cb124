// genscope advise
#include <cstdio>

#include <genscope/advise.h>
#include <genscope/bench.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "base/terminal.h"
#include "bench/history/verified.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run_word.h"

namespace genscope::cli {
namespace {

class Advise final : public Command {
 public:
  const char* name() const override { return "advise"; }
  const char* summary() const override { return "Say what to change in a run, and why"; }

  void add_options(Options& options) override {
    options.add("RUN", run_, "", kRunHelp);
    options.flag("--all", all_, "Also the rules that could not judge, and what they lack");
    options.add("--rules", rules_, "FILE", "YAML that adds, overrides or silences rules");
    options
        .add("--apply", apply_, "PROGRAM",
             "Print the findings as settings: diffusers (Python), comfyui or sdcpp (flags)")
        .one_of({"diffusers", "comfyui", "sdcpp"});
    add_print_options(options, format_, json_, output_);
    options.footer(
        std::string(
            "Each finding names its rule, the numbers that fired it, what to do, what was\n"
            "gained elsewhere and who saw it. A rule that lacks a fact says nothing.\n"
            "docs/rules.md lists them all.\n\n"
            "--apply takes the findings that go together. What `genscope bench ab\n"
            "--verifies RULE` measured on this machine counts more than what others saw.\n\n"
            "Examples:\n"
            "  genscope advise genscope-runs/20260101-120000-demo-4242\n"
            "  genscope advise RUN --all --rules my-rules.yaml\n"
            "  genscope advise RUN --apply diffusers > settings.py\n"
            "  genscope advise RUN --json | jq '.findings[].rule'\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (json_) format_ = "json";
    if (apply_.empty() || output_.ends_with(".json")) {  // settings.py is text of --apply
      Result<std::string> format = format_for(format_, output_, {"json", "md"});
      if (!format) return format.error();
      format_ = std::move(*format);
    }
    if (!apply_.empty() && format_ == "md") {
      return Error{ErrorCode::invalid_argument,
                   "--apply prints what the program takes, or JSON; leave --format md out"};
    }
    std::vector<Rule> rules = built_in_rules();
    if (!rules_.empty()) {
      Result<std::vector<Rule>> loaded = load_rules(rules_, rules);
      if (!loaded) return loaded.error();
      rules = std::move(*loaded);
    }
    const Result<std::string> path = run_path(run_);
    if (!path) return path.error();
    const Result<genscope::Run> run = read_run(*path);
    if (!run) return run.error();
    const Facts facts = facts_of(analyze(*run));
    const Advice advice = genscope::advise(facts, rules);
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    if (!apply_.empty()) {
      write_patch(settings_patch(advice, facts, apply_, evidence_for(advice)), output->sink());
    } else if (format_ == "json") {
      advice_json(advice, all_, output->sink());
    } else if (format_ == "md") {
      advice_markdown(advice, all_, output->sink());
    } else {
      const bool color =
          globals.color == "auto" && !output->is_stdout() ? false : base::use_color(globals.color);
      advice_text(advice, {.width = base::output_width(), .color = color, .all = all_},
                  output->sink());
    }
    if (const Status done = output->commit(); !done) return done.error();
    return kFine;
  }

 private:
  std::vector<SettingEvidence> evidence_for(const Advice& advice) const {
    std::vector<std::string> ids;
    for (const Finding& finding : advice.findings) {
      if (finding.rule.apply.contains(apply_)) ids.push_back(finding.rule.id);
    }
    if (ids.empty()) return {};
    return genscope::bench::verified_settings(ids, genscope::bench::inspect_environment().klass);
  }

  void write_patch(const SettingsPatch& patch, const Sink& sink) const {
    if (format_ == "json") {
      settings_patch_json(patch, sink);
    } else {
      settings_patch_text(patch, sink);
    }
  }

  std::string run_, rules_, apply_;
  std::string output_ = "-", format_;
  bool all_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_advise() { return std::make_unique<Advise>(); }

}  // namespace genscope::cli
