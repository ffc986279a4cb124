// genscope bench compare
#include <fmt/format.h>

#include <algorithm>

#include "base/terminal.h"
#include "bench/output/output.h"
#include "cli/bench/ci_flags.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kCompareFooter =
    "BASE and NEW are results by id, beginning of an id, path, `last`, `last~2`, or the name of a\n"
    "baseline. First whether they can be compared: the kind of machine and the work. Then each\n"
    "figure of each cell, with an interval. The results were measured at different times, so a\n"
    "machine that changed meanwhile is in the difference: `bench ab` measures both in turns.\n\n"
    "Examples:\n"
    "  genscope bench compare main last\n"
    "  genscope bench compare last~1 last --effect 3 --gate latency_s --gate rss_peak_bytes\n"
    "  genscope bench compare main last --md >> pull-request.md\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage\n"
    "  7    nothing was measured in one of them\n"
    "  6    the baseline is missing or cannot be compared\n"
    "  1    a gate regressed\n"
    "  3    inconclusive, with --strict\n"
    "  0    no gate regressed\n";

class CompareVerb final : public Command {
 public:
  const char* name() const override { return "compare"; }
  const char* summary() const override { return "Judge a result against an earlier one"; }

  void add_options(Options& options) override {
    options.add("BASE", base_, "", "The earlier result, or a baseline").required();
    options.add("NEW", new_, "", "The later one").show_default();
    options.add("--effect", effect_percent_, "PERCENT", "Smallest change that matters")
        .range(0, 1000)
        .show_default();
    options.add("--gate", gates_, "METRIC", "Decides the exit code; repeatable (latency_s)");
    options.flag("--strict", strict_, "Exit with 3 if a gate is not decided");
    options
        .add("-f,--format", format_, "FORMAT",
             "text, md, json or csv; default: by the name of PATH, else text")
        .one_of({"text", "md", "json", "csv"});
    options.flag("--json", json_, "Short for --format json");
    options.flag("--md", markdown_, "Short for --format md");
    add_output_option(options, output_);
    ci_.add_options(options);
    options.footer(kCompareFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (json_) format_ = "json";
    if (markdown_) format_ = "md";
    Result<std::string> format = format_for(format_, output_, {"md", "json", "csv"});
    if (!format) return format.error();
    format_ = std::move(*format);
    const Result<core::BenchResult> base = core::find_result(base_);
    if (!base) return not_there(base.error());
    Result<core::BenchResult> now = core::find_result(new_);
    if (!now) return not_there(now.error());
    if (base->id == now->id) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("{} and {} are the same result; name two", base_, new_)};
    }
    now->comparisons = core::compare_results(*base, *now, judge_options(*now), rules());
    now->exit = core::decide_exit(*now, strict_);
    if (now->comparisons.empty()) {
      fail({ErrorCode::not_found, "nothing was measured in both results"});
      return int{core::kNothingMeasured};
    }
    if (const Status done = write(*base, *now, globals); !done) return done.error();
    const bool json = output_ == "-" && format_ == "json";
    if (const Status done = ci_.write(*now, json); !done) return done.error();
    return now->exit.code;
  }

 private:
  static Result<int> not_there(const Error& error) {
    if (error.code != ErrorCode::not_found) return error;
    fail(error);
    return int{core::kNoBaseline};
  }

  JudgeOptions judge_options(const core::BenchResult& now) const {
    JudgeOptions options;
    options.min_effect = effect_percent_ / 100;
    options.noise = core::noise_floor_of(
        now.environment.klass, now.cells.size() == 1 ? core::noise_key(now, now.cells[0]) : "");
    return options;
  }

  core::MetricRules rules() const {
    core::MetricRules rules;
    for (const std::string& gate : gates_) {
      core::MetricRule& rule = rules[gate];
      rule.gate = true;
      rule.judge.min_effect = effect_percent_ / 100;
      rule.judge.direction = core::metric(gate).direction;
    }
    return rules;
  }

  Status write(const core::BenchResult& base, const core::BenchResult& now,
               const Globals& globals) const {
    Result<Output> output = Output::open(output_);
    if (!output) return output.error();
    const Sink sink = output->sink();
    if (format_ == "json") {
      sink(core::to_json(now));
    } else if (format_ == "md") {
      core::result_markdown(now, sink);
    } else if (format_ == "csv") {
      core::result_csv(now, sink);
    } else {
      sink(fmt::format("{} against {} ({})\n", now.id, base.id, base.started.substr(0, 16)));
      for (const std::string& why : core::why_incomparable(base, now))
        sink("not comparable: " + why + "\n");
      core::ResultTextOptions look;
      look.width = base::output_width();
      look.color = output->is_stdout() && base::use_color(globals.color);
      core::result_text(now, look, sink);
    }
    return output->commit();
  }

  std::string base_, new_ = "last", format_, output_ = "-";
  std::vector<std::string> gates_;
  double effect_percent_ = 1;
  CiFlags ci_;
  bool strict_ = false, json_ = false, markdown_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_compare() { return std::make_unique<CompareVerb>(); }

}  // namespace genscope::cli::bench
