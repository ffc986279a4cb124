// genscope bench e2e
#include <fmt/format.h>

#include <map>

#include "bench/output/words.h"
#include "bench/run/quantities.h"
#include "bench/validate/column.h"
#include "bench/validate/success.h"
#include "cli/bench/prompted.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kE2eFooter =
    "Every prompt goes through the command, whether others fail or not. The share that\n"
    "succeeds has Wilson's interval, and its lower end is what --min-success asks for:\n"
    "10 of 10 only shows at least 72 %. {prompt} and {seed} in CMD are replaced; {prompt} is\n"
    "one word, whatever is in it. A file that is missing, broken or blank is a failure.\n\n"
    "Examples:\n"
    "  genscope bench e2e 'python gen.py --prompt {prompt}' --prompts prompts.txt\n"
    "  genscope bench e2e './gen {prompt} out.png' --prompts p.txt --output-file out.png \\\n"
    "      --min-success 95% --target 5s\n"
    "  genscope bench e2e http://127.0.0.1:8000/v1/images/generations --prompt 'a cat'\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage\n"
    "  7    nothing was measured\n"
    "  5    the environment: no space, an I/O error\n"
    "  4    a run failed, or with --min-success fewer succeed than that\n"
    "  1    the success rate is not shown by so few runs, or the target is missed\n"
    "  0    all passed\n"
    "  130  interrupted; what was measured is shown\n";

class E2e final : public Command {
 public:
  const char* name() const override { return "e2e"; }
  const char* summary() const override { return "Prompts through it: success rate and times"; }
  void add_options(Options& options) override {
    options.add("CMD", what_, "", "Command with {prompt}, a URL, or a suite file").required();
    prompts_.add_options(options);
    options.add("--min-success", least_text_, "SHARE", "Share that must be shown to succeed: 95%");
    options.add("--target", target_text_, "TIME", "Time that the median must keep to: 5s, 800ms");
    outputs_.add_options(options);
    options.footer(kE2eFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (const Status checked = prompts_.check(); !checked) return checked.error();
    std::vector<core::PlannedCell> cells(1);
    std::unique_ptr<core::Subject> subject;
    if (is_suite(what_)) {
      if (const Status read = take_suite(cells, subject); !read) return read.error();
    } else {
      subject = prompts_.subject(what_);
    }
    if (const Status checked = check(); !checked) return checked.error();
    const Interruptible interruptible;
    core::BenchResult result = begin_result("e2e", 1);
    result.labels["A"] = what_;
    for (const core::PlannedCell& cell : cells) {
      if (cell.skipped.empty() && !core::cancelled()) run_cell(*subject, cell, globals, result);
    }
    return report(result);
  }

 private:
  Status take_suite(std::vector<core::PlannedCell>& cells,
                    std::unique_ptr<core::Subject>& subject) {
    const Result<core::Suite> suite = core::read_suite(what_);
    if (!suite) return suite.error();
    Result<std::vector<core::PlannedCell>> planned = core::plan_suite(*suite);
    if (!planned) return planned.error();
    cells = std::move(*planned);
    Result<std::unique_ptr<core::Subject>> made = prompts_.subject(*suite);
    if (!made) return made.error();
    subject = std::move(*made);
    least_ = suite->prompts.min_success;
    return Done{};
  }

  void run_cell(core::Subject& subject, const core::PlannedCell& planned, const Globals& globals,
                core::BenchResult& result) {
    ProgressLine line(globals);
    core::PromptOptions options = prompts_.prompt_options();
    options.params = planned.params;
    core::Cell cell = core::run_prompts(
        subject, options, [&](const core::Sample&, std::size_t done, std::size_t all) {
          line.tell(fmt::format("{} {} of {}", planned.id, done, all));
          return !core::cancelled();
        });
    if (!planned.id.empty()) cell.id = planned.id;
    result.cells.push_back(std::move(cell));
  }

  Status check() {
    if (prompts_.prompts().empty()) {
      return Error{ErrorCode::invalid_argument, "no prompt; give --prompts FILE or --prompt TEXT"};
    }
    if (!least_text_.empty() && !(least_ = core::share_in(least_text_))) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--min-success {}: not a share; write 95% or 0.95", least_text_)};
    }
    if (!target_text_.empty() && !(target_s_ = core::duration_in(target_text_))) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("--target {}: not a time; write 5s or 800ms", target_text_)};
    }
    return Done{};
  }

  Result<int> report(core::BenchResult& result) {
    const auto rate = core::success_rate(result.cells);
    std::vector<double> times;
    for (const core::Cell& cell : result.cells) {
      const std::vector<double> some = good_values(cell, 'A', "latency_s");
      times.insert(times.end(), some.begin(), some.end());
    }
    if (!rate) {
      result.exit = {kNothingMeasured, {"Nothing was measured."}};
      return outputs_.finish(result, "genscope.bench_e2e/1", "", {});
    }
    judge(*rate, times, result);
    std::string text = core::success_words(*rate) + "\n";
    if (!times.empty()) {
      text += fmt::format("time: {}\n", time_words(times));
    }
    Json failures = Json::array();
    for (const core::Cell& cell : result.cells) text += failures_of(cell, failures);
    return outputs_.finish(result, "genscope.bench_e2e/1", text,
                           {{"success",
                             {{"successes", rate->successes},
                              {"trials", rate->trials},
                              {"rate", rate->rate},
                              {"ci", {rate->interval.low, rate->interval.high}},
                              {"level", rate->interval.confidence}}},
                            {"latency_s", figures(times)},
                            {"failures", std::move(failures)}});
  }

  // The first three of each class, in words; all of them into `rows`.
  static std::string failures_of(const core::Cell& cell, Json& rows) {
    std::string text;
    std::map<std::string, std::size_t> classes;
    for (const core::Unit& unit : cell.units) {
      for (const core::Sample& sample : unit.samples) {
        if (!sample.failure) continue;
        const std::string kind(core::name(sample.failure->kind));
        rows.push_back({{"cell", cell.id},
                        {"prompt", sample.prompt},
                        {"class", kind},
                        {"detail", sample.failure->detail}});
        if (++classes[kind] <= 3) {
          text += fmt::format("failed ({}): {}: {}\n", kind, sample.prompt, sample.failure->detail);
        }
      }
      if (unit.failure) text += fmt::format("failed: {}\n", unit.failure->detail);
    }
    return text;
  }

  void judge(const core::SuccessRate& rate, const std::vector<double>& times,
             core::BenchResult& result) {
    const auto add = [&](int code, std::string reason) {
      result.exit.code = core::worse_exit(result.exit.code, code);
      result.exit.reasons.push_back(std::move(reason));
    };
    if (!least_ && rate.successes < rate.trials) {
      add(core::kProductFailed,
          fmt::format("{} of {} failed.", rate.trials - rate.successes, rate.trials));
    }
    if (least_) {
      judge_rate(rate, add);
      result.targets.push_back(
          least_target("success_ratio", "rate", *least_, rate.rate, rate.interval));
    }
    if (!target_s_) return;
    const core::Metric metric = core::metric("latency_s");
    result.targets.push_back(most_target("latency_s", "median", *target_s_, core::median_of(times),
                                         core::median_interval_of(times)));
    if (times.empty()) return add(core::kVerdictFailed, "The target is missed: no run succeeded.");
    const double median = *core::median_of(times);
    const auto interval = core::median_interval_of(times);
    if ((interval ? interval->high : median) > *target_s_) {
      add(core::kVerdictFailed,
          median > *target_s_
              ? fmt::format("The target of {} is missed.", core::figure(metric.name, *target_s_))
              : fmt::format("The target of {} is not proved: the interval goes beyond it.",
                            core::figure(metric.name, *target_s_)));
    }
  }

  template <class Add>
  void judge_rate(const core::SuccessRate& rate, const Add& add) const {
    const core::SuccessVerdict verdict = core::judge_success(rate, *least_);
    if (verdict == core::SuccessVerdict::failed) {
      add(core::kProductFailed, fmt::format("Fewer than {:g} % succeed.", *least_ * 100));
    } else if (verdict == core::SuccessVerdict::not_shown) {
      const std::uint64_t needed = core::runs_to_show(*least_);
      add(core::kVerdictFailed,
          needed == 0 ? std::string("No number of runs shows that it never fails.")
                      : fmt::format("So few runs do not show {:g} %: {} without a failure would.",
                                    *least_ * 100, needed));
    }
  }

  std::string what_, least_text_, target_text_;
  std::optional<double> least_, target_s_;
  PromptFlags prompts_;
  FindingOutputs outputs_;
};

}  // namespace

std::unique_ptr<Command> make_e2e() { return std::make_unique<E2e>(); }

}  // namespace genscope::cli::bench
