// genscope compare
#include <cstdio>
#include <optional>

#include <genscope/compare.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/terminal.h"

namespace genscope::cli {
namespace {

constexpr const char* kFooter =
    "First what differs in how the runs were made (libraries, driver, hardware, model,\n"
    "size, steps, ...), then what changed: stages, steps, memory, energy. Runs that did\n"
    "different work are not compared. The exit code is 0 also when the second run is\n"
    "slower: one run each proves nothing. docs/compare.md tells what is compared and how.\n\n"
    "Examples:\n"
    "  genscope compare genscope-runs/before genscope-runs/after\n"
    "  genscope compare A B --target 5 --noise 5\n"
    "  genscope compare A B -o compare.html\n"
    "  genscope compare A B -f md >> pull-request.md\n"
    "  genscope compare A B --json | jq '.rows[] | select(.change == \"slower\")'\n\n"
    "Exit codes:\n"
    "  0    compared\n"
    "  2    usage, or an input that cannot be used\n"
    "  5    the environment: no space, an I/O error\n"
    "  6    the runs cannot be compared: other work, unfinished, nothing in common\n"
    "  7    nothing was measured in one of them\n"
    "  130  interrupted\n";

struct Loaded {
  genscope::Run run;
  Analysis analysis;
  bool measured() const {
    const RecorderSummary& r = analysis.recorder;
    return r.spans + r.events + r.counters > 0;
  }
};

Result<Loaded> load(const std::string& path) {
  Result<genscope::Run> run = read_run(path);
  if (!run) return run.error();
  Analysis analysis = analyze(*run);
  return Loaded{std::move(*run), std::move(analysis)};
}

class Compare final : public Command {
 public:
  const char* name() const override { return "compare"; }
  const char* summary() const override { return "Say what differs between two runs"; }

  void add_options(Options& options) override {
    options.add("BEFORE", before_, "", "Run directory, or one trace file").required();
    options.add("AFTER", after_, "", "Another").required();
    options
        .add("-f,--format", format_, "FORMAT",
             "text, html, json or md; default: by the name of PATH, else text")
        .one_of({"text", "html", "json", "md"});
    options.flag("--json", json_, "Short for --format json");
    options
        .add("-o,--output", output_, "PATH", "Write to this file, whole or not at all; - is stdout")
        .show_default();
    options.add("--target", target_, "SECONDS", "Time that a generation should take").positive();
    options.add("--noise", noise_percent_, "PERCENT", "Changes within this are none")
        .range(0, 100)
        .show_default();
    options.flag("--force", force_, "Compare runs that did different work, or did not finish it");
    options.footer(kFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (json_) format_ = "json";
    if (format_.empty()) format_ = format_of(output_, {"html", "json", "md"});
    const Result<Loaded> before = load(before_);
    if (!before) return before.error();
    const Result<Loaded> after = load(after_);
    if (!after) return after.error();
    for (const auto* side : {&*before, &*after}) {
      if (side->measured()) continue;
      std::fprintf(stderr, "genscope: nothing was measured in the %s run\n",
                   side == &*before ? "first" : "second");
      return kNothingMeasured;
    }
    const Comparison comparison = genscope::compare(
        before->run, before->analysis, after->run, after->analysis,
        {.target_seconds = target_, .noise_floor = noise_percent_ / 100, .force = force_});
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    write(comparison, *before, *after, globals, *output);
    if (const Status done = output->commit(); !done) return done.error();
    if (comparison.incomparable.empty() || comparison.forced) return kFine;
    // The text says why; who reads the rest is told here.
    std::string why = "these runs cannot be compared; --force compares them all the same";
    if (format_ != "text") why += ":";
    for (const std::string& sentence : comparison.incomparable) {
      if (format_ != "text") why += " " + sentence;
    }
    fail({ErrorCode::invalid_argument, why});
    return kIncomparable;
  }

 private:
  void write(const Comparison& comparison, const Loaded& before, const Loaded& after,
             const Globals& globals, Output& output) const {
    const Sink sink = output.sink();
    if (format_ == "json") {
      compare_json(comparison, sink);
    } else if (format_ == "html") {
      compare_html(comparison, before.run, before.analysis, after.run, after.analysis, sink);
    } else if (format_ == "md") {
      compare_markdown(comparison, sink);
    } else {
      const bool color =
          globals.color == "auto" && !output.is_stdout() ? false : use_color(globals.color);
      compare_text(comparison, {.width = output_width(), .color = color}, sink);
    }
  }

  std::string before_, after_;
  std::string format_;  // empty: by the name of the output
  std::string output_ = "-";
  std::optional<double> target_;
  double noise_percent_ = 2;
  bool json_ = false;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare() { return std::make_unique<Compare>(); }

}  // namespace genscope::cli
