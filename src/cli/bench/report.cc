// genscope bench report, and its other name, genscope bench export
#include "bench/output/output.h"

#include "base/terminal.h"
#include "cli/bench/ci_flags.h"
#include "cli/bench/formats.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

namespace core = genscope::bench;

constexpr const char* kReportFooter =
    "RESULT is a file, an id, the beginning of an id, `last`, `last~2`, or the name of a\n"
    "baseline. Nothing is measured or judged anew: the exit code is 0 also for a result\n"
    "that regressed.\n\n"
    "Formats:\n"
    "  text        for a terminal\n"
    "  md          for a pull request: what regressed first, what did not change folded\n"
    "  html        one page with every run, a map over two axes, and the verdicts\n"
    "  csv         a row for each cell, side and metric\n"
    "  junit       a test for each gate: a regression fails, what is open is skipped\n"
    "  gha         for github-action-benchmark, customSmallerIsBetter\n"
    "  gha-bigger  the same, customBiggerIsBetter\n"
    "  bmf         Bencher Metric Format\n"
    "  json        genscope.bench/1, docs/bench-results.md\n\n"
    "Examples:\n"
    "  genscope bench report last\n"
    "  genscope bench report last -o bench.html\n"
    "  genscope bench report last -f md >> $GITHUB_STEP_SUMMARY\n"
    "  genscope bench report result.json -o page.html --x steps --y size\n"
    "  genscope bench report result.json --ci auto\n";

class ReportVerb final : public Command {
 public:
  explicit ReportVerb(bool alias) : alias_(alias) {}
  const char* name() const override { return alias_ ? "export" : "report"; }
  const char* summary() const override {
    return alias_ ? "Another name for report" : "Show a result, or write it for another tool";
  }

  void add_options(Options& options) override {
    options.add("RESULT", result_, "", "A result's file, id or name").show_default();
    std::vector<std::string> formats = result_formats();
    formats.insert(formats.begin(), "text");
    options
        .add("-f,--format", format_, "FORMAT",
             "text, md, html, csv, junit, gha, gha-bigger, bmf or json; default: by the name of "
             "PATH, else text")
        .one_of(formats);
    add_output_option(options, output_);
    options.add("--x", page_.x_axis, "AXIS", "With html: the axis across; default: the longest");
    options.add("--y", page_.y_axis, "AXIS", "With html: the axis down; default: the next");
    options.add("--metric", page_.metric, "METRIC", "With html: the metric to draw").show_default();
    options.flag("--all", all_, "With text: every metric of every cell");
    options.flag("--identify", identify_, "With json: keep the folders of this machine");
    ci_.add_options(options, "the folder of PATH");
    options.footer(kReportFooter);
  }

  Result<int> run(const Globals& globals) override {
    Result<std::string> format =
        format_for(format_, output_, {"md", "html", "csv", "junit", "json"});
    if (!format) return format.error();
    const Result<core::BenchResult> result = core::find_result(result_);
    if (!result) return result.error();
    if (ci_.wanted()) {
      if (const Status done = ci_.write(*result, false, folder()); !done) return done.error();
      if (format_.empty() && output_ == "-") return kFine;
    }
    format_ = std::move(*format);
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    write(*result, globals, *output);
    if (const Status done = output->commit(); !done) return done.error();
    return kFine;
  }

 private:
  std::string folder() const {
    const std::size_t slash = output_.rfind('/');
    return output_ == "-" || slash == std::string::npos ? "." : output_.substr(0, slash);
  }

  void write(const core::BenchResult& result, const Globals& globals, Output& output) const {
    const Sink sink = output.sink();
    if (format_ == "html") return write_result_page(result, page_, sink);
    if (format_ == "json") return core::result_json(result, {.identify = identify_}, sink);
    if (format_ != "text") return write_result_as(format_, result, sink);
    const bool color =
        globals.color == "auto" && !output.is_stdout() ? false : base::use_color(globals.color);
    core::result_text(result, {.width = base::output_width(), .color = color, .all = all_}, sink);
  }

  bool alias_;
  std::string result_ = "last";
  std::string format_;  // empty: by the name of the output
  std::string output_ = "-";
  CiFlags ci_;
  core::ResultPageOptions page_;
  bool all_ = false;
  bool identify_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_report() { return std::make_unique<ReportVerb>(false); }
std::unique_ptr<Command> make_bench_export() { return std::make_unique<ReportVerb>(true); }

}  // namespace genscope::cli::bench
