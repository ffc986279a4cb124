// genscope report
#include <unistd.h>

#include <genscope/analyze.h>
#include <genscope/compat/text_styles.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run_word.h"
#include "cli/shown.h"

namespace genscope::cli {
namespace {

class Report final : public Command {
 public:
  const char* name() const override { return "report"; }
  const char* summary() const override {
    return "Show a recorded run: stages, steps, threads, findings";
  }

  void add_options(Options& options) override {
    options.add("RUN", run_, "", kRunHelp);
    options
        .add("-f,--format", format_, "FORMAT",
             "text, html, json, csv, md, chrome (trace events), perfetto, or of sampled stacks "
             "collapsed or speedscope; default: by the name of PATH, else text")
        .one_of(
            {"text", "html", "json", "csv", "md", "chrome", "perfetto", "collapsed", "speedscope"});
    options.flag("--json", json_, "Short for --format json");
    add_output_option(options, output_);
    options
        .add("--style", style_, "NAME",
             "For text: standard, or what the monitors of others print: performance_summary, "
             "aggregate_statistics, batch_lines, profiling_metrics")
        .one_of({"standard", "performance_summary", "aggregate_statistics", "batch_lines",
                 "profiling_metrics"});
    const Option spans =
        options.flag("--spans", spans_, "Every span, one per line, instead of the summary");
    options.flag("--samples", samples_, "Every reading of every counter, as CSV or JSON Lines")
        .excludes(spans);
    options.add("--points", points_, "N", "With --samples: at most N of one series, peaks kept")
        .positive();
    shown_.add_options(options);
    options.footer(std::string("Examples:\n"
                               "  genscope report genscope-runs/20260101-120000-demo-4242\n"
                               "  genscope report RUN -o report.html\n"
                               "  genscope report RUN -f json | jq '.stages[0]'\n"
                               "  genscope report RUN -f md >> $GITHUB_STEP_SUMMARY\n"
                               "  genscope report RUN -f chrome -o trace.json\n"
                               "  genscope report RUN -o run.pftrace    # for ui.perfetto.dev\n"
                               "  genscope report RUN --style performance_summary\n"
                               "  genscope report RUN -f speedscope -o stacks.speedscope.json\n"
                               "  genscope report RUN --spans -f csv -o spans.csv\n"
                               "  genscope report RUN --samples --points 1000 -o samples.csv\n\n") +
                   kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (json_) format_ = "json";
    if (format_.empty() && style_ != "standard") format_ = "text";
    Result<std::string> format =
        format_for(format_, output_, {"html", "json", "csv", "md", "perfetto"});
    if (!format) return format.error();
    format_ = std::move(*format);
    if ((spans_ || samples_) && (format_ == "chrome" || format_ == "perfetto")) {
      return Error{ErrorCode::invalid_argument, "--format " + format_ +
                                                    " has all spans and samples; leave " +
                                                    (spans_ ? "--spans" : "--samples") + " out"};
    }
    if (format_ == "perfetto" && output_ == "-" && isatty(STDOUT_FILENO) != 0) {
      return Error{ErrorCode::invalid_argument,
                   "--format perfetto is binary; write it to a file: -o run.pftrace"};
    }
    if (format_ != "text" && style_ != "standard") {
      return Error{ErrorCode::invalid_argument, "--style is for --format text, not " + format_};
    }
    const Result<std::string> path = run_path(run_);
    if (!path) return path.error();
    const Result<genscope::Run> run = read_run(*path);
    if (!run) return run.error();
    const Analysis analysis = analyze(*run);
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    write(*run, analysis, globals, *output);
    if (const Status done = output->commit(); !done) return done.error();
    if (of_stacks() && analysis.sampled.nodes.empty()) {
      if (!globals.quiet) {
        std::fprintf(stderr,
                     "genscope: no stacks were sampled in this run; record it with "
                     "`genscope run --stacks`\n");
      }
      return kNothingMeasured;
    }
    const RecorderSummary& r = analysis.recorder;
    if (r.spans + r.events + r.counters > 0) return kFine;
    if (!globals.quiet) std::fprintf(stderr, "genscope: nothing was measured in this run\n");
    return kNothingMeasured;
  }

 private:
  bool of_stacks() const { return format_ == "collapsed" || format_ == "speedscope"; }

  void write(const genscope::Run& run, const Analysis& analysis, const Globals& globals,
             Output& output) const {
    const Sink sink = output.sink();
    if (samples_) {
      (format_ == "json" ? samples_json : samples_csv)(run, analysis, points_, sink);
    } else if (spans_) {
      (format_ == "json"  ? spans_json
       : format_ == "csv" ? spans_csv
                          : spans_text)(run, analysis, sink);
    } else if (format_ == "collapsed") {
      stacks_collapsed(analysis, sink);
    } else if (format_ == "speedscope") {
      stacks_speedscope(run, analysis, sink);
    } else if (format_ == "csv") {
      report_csv(run, analysis, sink);
    } else if (format_ == "chrome") {
      report_chrome(run, analysis, sink);
    } else if (format_ == "perfetto") {
      report_perfetto(run, analysis, sink);
    } else {
      write_advised(run, analysis, globals, output);
    }
  }

  void write_advised(const genscope::Run& run, const Analysis& analysis, const Globals& globals,
                     Output& output) const {
    const Sink sink = output.sink();
    const Advice advice = advise(facts_of(analysis));
    if (format_ == "html") {
      report_html(run, analysis, advice, sink);
    } else if (format_ == "json") {
      report_json(run, analysis, advice, sink);
    } else if (format_ == "md") {
      report_markdown(run, analysis, advice, sink);
    } else {
      const bool color =
          globals.color == "auto" && !output.is_stdout() ? false : base::use_color(globals.color);
      const int width = shown_.width();
      if (style_ == "standard" && !shown_.full) {
        report_screen(
            run, analysis, advice,
            {.width = width, .color = color, .unicode = base::output_is_utf8(), .run = run_}, sink);
      } else {
        report_text(run, analysis, advice, *text_style(style_), {.width = width, .color = color},
                    sink);
      }
    }
  }

  std::string run_;
  std::string format_;  // empty: by the name of the output
  std::string output_ = "-";
  std::string style_ = "standard";
  Shown shown_;
  bool json_ = false;
  bool spans_ = false;
  bool samples_ = false;
  std::uint64_t points_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_report() { return std::make_unique<Report>(); }

}  // namespace genscope::cli
