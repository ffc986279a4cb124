// genscope compare
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>

#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/compare_sides.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli {
namespace {

constexpr const char* kCompareFooter =
    "First what differs in how the runs were made (libraries, driver, hardware, model,\n"
    "size, steps, ...), then what changed: stages, steps, memory, energy. Runs that did\n"
    "different work are not compared. One run each gives figures and no verdict: record\n"
    "three of each, in turns, and give both sides, with -- between. A folder means all\n"
    "runs in it. docs/compare.md tells what is compared and how.\n\n"
    "Examples:\n"
    "  genscope compare genscope-runs/before genscope-runs/after\n"
    "  genscope compare A1 A2 A3 -- B1 B2 B3\n"
    "  genscope compare --gate runs/main/ -- runs/branch/\n"
    "  genscope compare A B --target 5 --noise 5 -o compare.html\n"
    "  genscope compare -f md 'runs/a*' -- 'runs/b*' >> pull-request.md\n"
    "  genscope compare A B --json | jq '.rows[] | select(.percent > 5)'\n\n"
    "Exit codes:\n"
    "  0    compared, whatever the verdict\n"
    "  1    with --gate: the verdict is regressed\n"
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
  const char* summary() const override { return "Say what differs between runs"; }
  bool wants_tail() const override { return true; }
  void set_tail(std::vector<std::string> words) override { tail_ = std::move(words); }

  void add_options(Options& options) override {
    options
        .add("RUN", words_, "",
             "Two runs; or the runs before, --, and the runs after; a folder is all runs in it")
        .required();
    options
        .add("-f,--format", format_, "FORMAT",
             "text, html, json or md; default: by the name of PATH, else text")
        .one_of({"text", "html", "json", "md"});
    options.flag("--json", json_, "Short for --format json");
    add_output_option(options, output_);
    options.add("--target", target_, "SECONDS", "Time that a generation should take").positive();
    options.add("--noise", noise_percent_, "PERCENT", "Ignore changes smaller than this")
        .range(0, 100)
        .show_default();
    options.flag("--force", force_, "Compare runs that did different work, or did not finish it");
    options.flag("--gate", gate_, "End with 1 if the verdict is regressed");
    options.footer(kCompareFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (json_) format_ = "json";
    Result<std::string> format = format_for(format_, output_, {"html", "json", "md"});
    if (!format) return format.error();
    format_ = std::move(*format);
    std::vector<std::string> before, after;
    if (const Status found = find_sides(before, after); !found) return found.error();
    if (gate_ && before.size() == 1 && after.size() == 1) {
      return Error{ErrorCode::invalid_argument,
                   "--gate needs several runs a side, best three or more: one run each has no "
                   "verdict"};
    }
    const std::pair<std::size_t, std::size_t> outlined = outlined_runs(before.size(), after.size());
    Comparer comparer;
    for (const bool first : {true, false}) {
      for (const std::string& path : first ? before : after) {
        const Result<Loaded> one = load(path);  // one at a time: the comparer keeps figures only
        if (!one) return one.error();
        if (!one->measured()) return nothing_measured(path, first, first ? before : after);
        std::vector<RunOutline>& outlines = first ? outlines_.before : outlines_.after;
        if (format_ != "html" || outlines.size() >= (first ? outlined.first : outlined.second)) {
          outlines_.left_out += 1;
        } else {
          outlines.push_back(outline_of(one->run, one->analysis));
        }
        if (first) {
          comparer.add_before(one->run, one->analysis);
        } else {
          comparer.add_after(one->run, one->analysis);
        }
      }
    }
    const Comparison comparison = comparer.finish(
        {.target_seconds = target_, .noise_floor = noise_percent_ / 100, .force = force_});
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    if (const Status drawn = write(comparison, before, after, globals, *output); !drawn) {
      return drawn.error();
    }
    if (const Status done = output->commit(); !done) return done.error();
    if (comparison.incomparable.empty() || comparison.forced) return verdict_code(comparison);
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
  // Without `--`, two words are a side each.
  Status find_sides(std::vector<std::string>& before, std::vector<std::string>& after) const {
    std::vector<std::string> first = words_, second = tail_.value_or(std::vector<std::string>{});
    if (!tail_) {
      if (words_.size() != 2) {
        return Error{
            ErrorCode::invalid_argument,
            fmt::format("compare takes two runs, not {}; of several a side, put -- between "
                        "them: genscope compare A1 A2 A3 -- B1 B2 B3",
                        words_.size())};
      }
      first = {words_[0]};
      second = {words_[1]};
    }
    for (const std::string& word : second) {
      std::error_code ignored;
      if (word.starts_with("-") && !std::filesystem::exists(word, ignored)) {
        return Error{ErrorCode::invalid_argument,
                     word + " follows --, where runs are named: put options before it"};
      }
    }
    if (second.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "no run follows --: name the runs after the change"};
    }
    for (const bool is_first : {true, false}) {
      Result<std::vector<std::string>> runs = runs_of_side(is_first ? first : second);
      if (!runs) return runs.error();
      (is_first ? before : after) = std::move(*runs);
    }
    return Done{};
  }

  static int nothing_measured(const std::string& path, bool first,
                              const std::vector<std::string>& side) {
    const char* const which = first ? "first" : "second";
    if (side.size() == 1) {
      std::fprintf(stderr, "genscope: nothing was measured in the %s run\n", which);
    } else {
      std::fprintf(stderr, "genscope: nothing was measured in %s, a run of the %s side\n",
                   path.c_str(), which);
    }
    return kNothingMeasured;
  }

  int verdict_code(const Comparison& comparison) const {
    const bool failed = gate_ && comparison.judgement.verdict == Verdict::regressed;
    return failed ? kVerdictFailed : kFine;
  }

  // The timeline and the flames are of one run a side, read once more.
  Status draw(const Comparison& comparison, const std::vector<std::string>& before,
              const std::vector<std::string>& after, const Sink& sink) const {
    const Result<Loaded> a = load(before[comparison.typical_before]);
    if (!a) return a.error();
    const Result<Loaded> b = load(after[comparison.typical_after]);
    if (!b) return b.error();
    compare_html(comparison, outlines_, a->run, a->analysis, b->run, b->analysis, sink);
    return Done{};
  }

  Status write(const Comparison& comparison, const std::vector<std::string>& before,
               const std::vector<std::string>& after, const Globals& globals,
               Output& output) const {
    const Sink sink = output.sink();
    if (format_ == "json") {
      compare_json(comparison, sink);
    } else if (format_ == "html") {
      return draw(comparison, before, after, sink);
    } else if (format_ == "md") {
      compare_markdown(comparison, sink);
    } else {
      const bool color =
          globals.color == "auto" && !output.is_stdout() ? false : base::use_color(globals.color);
      compare_text(comparison, {.width = base::output_width(), .color = color}, sink);
    }
    return Done{};
  }

  std::vector<std::string> words_;
  std::optional<std::vector<std::string>> tail_;  // what follows `--`
  std::string format_;                            // empty: by the name of the output
  std::string output_ = "-";
  RunOutlines outlines_;  // for a page
  std::optional<double> target_;
  double noise_percent_ = 2;
  bool json_ = false;
  bool force_ = false;
  bool gate_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare() { return std::make_unique<Compare>(); }

}  // namespace genscope::cli
