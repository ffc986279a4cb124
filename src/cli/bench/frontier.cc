// genscope bench frontier
#include <fmt/format.h>

#include <algorithm>

#include "bench/history/frontier.h"
#include "bench/output/words.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kFrontierFooter =
    "Doubles the parameter until the command runs out of memory, then halves the gap. {NAME} in\n"
    "CMD is replaced by the value. Out of memory is known by its message, by the kernel's killer,\n"
    "or by --oom-exit. Both sides of the frontier are tried twice.\n\n"
    "Examples:\n"
    "  genscope bench frontier 'python gen.py --batch {batch}' --parameter batch 1..64\n"
    "  genscope bench frontier 'python gen.py --size {size}' --parameter size 256..4096:64\n\n"
    "Exit codes:\n"
    "  0    found, or all values fit\n"
    "  2    usage\n"
    "  4    even the smallest fails, or it failed for another reason than memory\n"
    "  130  interrupted\n";

class FrontierVerb final : public Command {
 public:
  const char* name() const override { return "frontier"; }
  const char* summary() const override { return "The largest batch, size or number that fits"; }

  void add_options(Options& options) override {
    options.add("CMD", command_, "", "Shell command with {NAME}").required();
    options.add("--parameter", parameters_, "NAME LOW..HIGH[:STEP]", "What to raise").required();
    options.add("--metric", metric_, "METRIC",
                "Peak to show; default: of the GPU, else the memory");
    options
        .add("--limit", limit_, "BYTES", "What the peak must stay below; default: this machine's")
        .positive();
    options.add("--oom-exit", oom_exits_, "CODE", "Exit code that means out of memory; repeatable")
        .one_each();
    options.add("--timeout", timeout_s_, "SECONDS", "Limit of one run").positive();
    options.flag("--json", json_, "Print JSON");
    options.footer(kFrontierFooter);
  }

  Result<int> run(const Globals& globals) override {
    if (parameters_.size() != 1) {
      return Error{ErrorCode::invalid_argument, "give --parameter once: one frontier at a time"};
    }
    const std::string& parameter = parameters_.front().first;
    if (command_.find("{" + parameter + "}") == std::string::npos) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("the command has no {{{0}}}: write it where the value of {0} goes",
                               parameter)};
    }
    const Result<core::FrontierRange> range = core::parse_range(parameters_.front().second);
    if (!range) return range.error();
    core::Frontier found;
    {
      const Interruptible interruptible;
      found = search(*range, parameter, globals);
    }
    const core::Environment machine = core::inspect_environment();
    found.limit = limit_ ? limit_ : core::memory_limit(metric_, machine);
    const std::string text =
        json_ ? core::frontier_json(found, parameter, metric_, machine) : text_of(found, parameter);
    if (const Status done = print_text(text); !done) return done.error();
    if (found.cancelled) return int{kInterrupted};
    return failed_otherwise(found) || !found.largest ? int{core::kProductFailed} : int{kFine};
  }

 private:
  core::Frontier search(const core::FrontierRange& range, const std::string& parameter,
                        const Globals& globals) {
    core::CommandOptions options;
    options.command = command_;
    options.timeout_s = timeout_s_;
    options.record = false;
    const std::unique_ptr<core::Subject> subject = core::command_subject(std::move(options));
    return core::find_frontier(range, [&](std::int64_t value) {
      core::Request request;
      request.params = {{parameter, std::to_string(value)}};
      const core::FrontierTry one = tried(value, subject->measure(request));
      if (!globals.quiet) std::fprintf(stderr, "%s\n", line_of(one, parameter).c_str());
      return one;
    });
  }

  core::FrontierTry tried(std::int64_t value, const core::Sample& sample) {
    core::FrontierTry one;
    one.value = value;
    one.failure = sample.failure;
    const bool ended = one.failure && (one.failure->kind == core::FailureClass::exit_nonzero ||
                                       one.failure->kind == core::FailureClass::crash);
    if (ended && says_oom(*one.failure)) {
      one.failure->kind = core::FailureClass::oom_host;
    }
    if (metric_.empty() && !one.failure) {
      metric_ = core::value_of(sample, "vram_peak_bytes") ? "vram_peak_bytes" : "rss_peak_bytes";
    }
    if (!metric_.empty()) one.peak = core::value_of(sample, metric_);
    one.latency_s = core::value_of(sample, "latency_s");
    return one;
  }

  // By the words of common allocators, or by the exit codes that the user named; the first line of
  // what went wrong is "exit code N".
  bool says_oom(const core::Failure& failure) const {
    for (const char* const words :
         {"MemoryError", "std::bad_alloc", "Cannot allocate memory", "can't allocate memory"}) {
      if (failure.detail.find(words) != std::string::npos) return true;
    }
    const std::string first = failure.detail.substr(0, failure.detail.find('\n'));
    return std::ranges::any_of(
        oom_exits_, [&](const std::string& code) { return first == "exit code " + code; });
  }

  static bool failed_otherwise(const core::Frontier& found) {
    return std::ranges::any_of(found.tries, [&](const core::FrontierTry& one) {
      return one.failure && one.value == found.smallest_not &&
             !core::is_out_of_memory(*one.failure);
    });
  }

  std::string line_of(const core::FrontierTry& one, const std::string& parameter) const {
    std::string text = fmt::format("{}={}: ", parameter, one.value);
    if (one.failure) {
      const std::string& detail = one.failure->detail;
      return text + fmt::format("{}{}{}", core::name(one.failure->kind), detail.empty() ? "" : ", ",
                                detail.substr(0, detail.find('\n')));
    }
    text += "fits";
    if (one.peak) text += ", peak " + core::figure(metric_, *one.peak);
    if (one.latency_s) text += ", " + core::figure("latency_s", *one.latency_s);
    return text;
  }

  std::string text_of(const core::Frontier& found, const std::string& parameter) const {
    std::string text;
    const core::Metric peak = core::metric(metric_);
    if (found.cancelled) {
      text += "Interrupted: the frontier was not found.\n";
    } else if (!found.largest) {
      text += fmt::format("Nothing fits: {}={} fails.\n", parameter, *found.smallest_not);
    } else if (found.smallest_not) {
      text += fmt::format("{0}={1} is the largest that fits; {0}={2} does not.\n", parameter,
                          *found.largest, *found.smallest_not);
    } else {
      text += fmt::format("All values fit, up to {}={}.\n", parameter, *found.largest);
    }
    if (found.peak && found.limit) {
      text += fmt::format(
          "Its {} of {} leaves {:.1f} % of {}.\n", peak.words, core::figure(peak.name, *found.peak),
          100 * (1 - *found.peak / *found.limit), core::figure(peak.name, *found.limit));
    } else if (found.peak) {
      text += fmt::format("Its {}: {}.\n", peak.words, core::figure(peak.name, *found.peak));
    }
    if (failed_otherwise(found)) {
      text +=
          "It did not run out of memory there but failed for another reason: look at its output.\n";
    }
    for (const std::string& sentence : found.violations)
      text += "Not monotonic: " + sentence + ".\n";
    return text;
  }

  std::string command_, metric_;
  std::vector<std::pair<std::string, std::string>> parameters_;
  std::vector<std::string> oom_exits_;
  std::optional<double> limit_, timeout_s_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_frontier() { return std::make_unique<FrontierVerb>(); }

}  // namespace genscope::cli::bench
