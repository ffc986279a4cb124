// genscope bench selfcheck, and the program that it measures by default
#include <fmt/format.h>
#include <unistd.h>

#include <climits>

#include "base/terminal.h"
#include "bench/history/rows.h"
#include "bench/history/selfcheck.h"
#include "bench/result/timestamp.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kSelfcheckFooter =
    "Measures a thing against itself, in turns. What then seems to differ is the noise of this\n"
    "machine: no verdict should be finer. Without CMD, a fixed amount of work.\n\n"
    "Examples:\n"
    "  genscope bench selfcheck\n"
    "  genscope bench selfcheck 'python gen.py --steps 4' --pairs 20\n\n"
    "Exit codes:\n"
    "  0    fine\n"
    "  2    usage\n"
    "  4    the command failed\n"
    "  5    the machine is unfit to measure\n"
    "  7    nothing was measured\n"
    "  130  interrupted\n";

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string("genscope");
}

class SelfcheckVerb final : public Command {
 public:
  const char* name() const override { return "selfcheck"; }
  const char* summary() const override { return "What this machine can tell apart"; }

  void add_options(Options& options) override {
    options.add("CMD", command_, "", "Shell command; default: a fixed amount of work");
    options.add("--pairs", pairs_, "N", "Pairs of runs; a floor needs 10")
        .range(2, 1000)
        .show_default();
    options.flag("--json", json_, "Print JSON");
    options.flag("--keep,!--no-keep", keep_, "Keep the floor for later verdicts (the default)");
    options.footer(kSelfcheckFooter);
  }

  Result<int> run(const Globals& globals) override {
    core::BenchResult result = begin_result("selfcheck", 1);
    name_work(result);
    const std::unique_ptr<core::Subject> subject = make_subject();
    {
      const Interruptible interruptible;
      measure_pairs(result, *subject);
    }
    result.ended = core::timestamp_now();
    result.exit = core::decide_exit(result, false);
    const core::Cell& cell = result.cells.front();
    if (core::cancelled()) return int{kInterrupted};
    if (cell.failure) {
      fail({ErrorCode::io, fmt::format("the command failed: {} {}", core::name(cell.failure->kind),
                                       cell.failure->detail)});
      return int{core::kProductFailed};
    }
    if (keep_) {
      if (const Status kept = core::remember(result); !kept)
        print_notes({kept.error().message}, globals);
    }
    const core::Selfcheck found = core::judge_selfcheck(result);
    const Status done =
        print_text(json_ ? core::selfcheck_json(result, found)
                         : core::selfcheck_text(result, found,
                                                static_cast<std::size_t>(base::output_width())));
    if (!done) return done.error();
    return core::is_fit(result.environment) ? int{kFine} : int{kUnfit};
  }

 private:
  void name_work(core::BenchResult& result) const {
    result.suite = std::string(core::kSelfcheckSuite);
    result.labels["A"] = result.labels["B"] = command_.empty() ? "fixed work" : command_;
    if (command_.empty()) {
      result.workload["noise_key"] = std::string(core::kMachineKey);
      return;
    }
    // The key that `bench ab` and `bench CMD` will ask for.
    core::BenchResult later;
    later.labels["A"] = command_;
    core::Cell cell;
    cell.id = kOnlyCell;
    result.workload["noise_key"] = core::noise_key(later, cell);
  }

  std::unique_ptr<core::Subject> make_subject() const {
    core::CommandOptions options;
    options.record = false;
    options.command = command_;
    if (command_.empty()) {
      options.argv = {own_program(), "bench", "fixed-work"};
      options.shell = false;
    }
    return core::command_subject(std::move(options));
  }

  void measure_pairs(core::BenchResult& result, core::Subject& subject) const {
    core::MeasureOptions options;
    options.units_min = options.units_max = pairs_;
    const core::Side sides[] = {{'A', &subject, {}}, {'B', &subject, {}}};
    result.cells.push_back(core::measure(kOnlyCell, {}, sides, options));
    result.comparisons = core::compare_sides(result, {});
    // A verdict here says something about the machine, never fails a gate.
    for (core::Comparison& one : result.comparisons) one.gate = false;
  }

  static constexpr const char* kOnlyCell = "all";
  std::string command_;
  std::uint64_t pairs_ = 12;
  bool json_ = false, keep_ = true;
};

class FixedWork final : public Command {
 public:
  const char* name() const override { return "fixed-work"; }
  const char* summary() const override { return "The work that selfcheck measures"; }
  bool hidden() const override { return true; }
  void add_options(Options& options) override {
    options.add("--rounds", rounds_, "N", "How much").show_default();
  }
  Result<int> run(const Globals&) override {
    // Always true; the compiler cannot know.
    return core::fixed_work(rounds_) != 1 ? int{kFine} : int{kUnfit};
  }

 private:
  std::uint64_t rounds_ = core::kFixedRounds;
};

}  // namespace

std::unique_ptr<Command> make_selfcheck() { return std::make_unique<SelfcheckVerb>(); }
std::unique_ptr<Command> make_fixed_work() { return std::make_unique<FixedWork>(); }

}  // namespace genscope::cli::bench
