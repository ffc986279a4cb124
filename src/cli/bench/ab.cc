// genscope bench ab
#include <fmt/format.h>

#include <algorithm>

#include <genscope/advise.h>

#include "base/suggest.h"
#include "bench/history/verified.h"
#include "bench/suite/fields.h"
#include "cli/bench/measure_cells.h"
#include "cli/bench/measure_flags.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kAbFooter =
    "Runs A and B in turns (A B B A, B A A B, at random), so that a machine that gets\n"
    "warmer or busier hits both alike. Pairs are added until the interval is narrow enough\n"
    "or the budget ends; never until it pleases. `12 % faster` means 12 % less time. Stages\n"
    "are told apart where the commands record with genscope. docs/bench.md has it all.\n\n"
    "Examples:\n"
    "  genscope bench ab 'python gen.py' 'python gen.py --compile'\n"
    "  genscope bench ab './old {n}' './new {n}' --parameter n 1,8 --export json=ab.json\n"
    "  genscope bench ab A B --output-file out.png      # and are the pictures the same?\n\n"
    "Exit codes, the first that applies:\n"
    "  2    usage\n"
    "  7    nothing was measured\n"
    "  5    the environment: no space, an I/O error\n"
    "  4    a command failed\n"
    "  1    B is slower, or its output is of lower quality\n"
    "  3    not decided, with --strict\n"
    "  0    B is faster, or no difference was found\n"
    "  130  interrupted; what was measured is shown\n";

class Ab final : public Command {
 public:
  const char* name() const override { return "ab"; }
  const char* summary() const override { return "Compare two commands, run in turns"; }
  void add_options(Options& options) override {
    options.add("A", a_, "", "Command for the shell: before").required();
    options.add("B", b_, "", "Another: after").required();
    options.add(
        "--verifies", verifies_, "RULE",
        "B is A with the setting that this rule proposes: `genscope advise --apply` counts it");
    flags_.add_options(options);
    outputs_.add_options(options);
    options.footer(kAbFooter);
  }
  Result<int> run(const Globals& globals) override {
    for (const Status& checked :
         {check_rule(), flags_.check(), outputs_.check(), flags_.check_commands({a_, b_})}) {
      if (!checked) return checked.error();
    }
    const Interruptible interruptible;
    core::BenchResult result = begin_result("ab", flags_.seed());
    result.labels = {{"A", a_}, {"B", b_}};
    if (!verifies_.empty()) {
      result.suite = core::verify_suite(verifies_);
      result.labels["verifies"] = verifies_;
    }
    std::vector<CellPlan> plans;
    for (const core::Params& point : flags_.points()) {
      const std::string id = core::cell_id(point);
      plans.push_back({id, id, point, {a_, b_}});
    }
    CellMeasurer measurer(flags_, globals);
    if (const Status done = measurer.run(plans, result); !done) return done.error();
    return outputs_.finish(result, flags_.strict(), globals);
  }

 private:
  Status check_rule() const {
    if (verifies_.empty()) return Done{};
    std::vector<std::string> known;
    for (const Rule& rule : built_in_rules()) known.push_back(rule.id);
    if (std::find(known.begin(), known.end(), verifies_) != known.end()) return Done{};
    const std::string meant = base::nearest(verifies_.substr(0, 64), known);
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--verifies: no rule is called '{}'; {}", verifies_,
                             meant.empty() ? "docs/rules.md lists them"
                                           : fmt::format("did you mean '{}'?", meant))};
  }

  std::string a_, b_, verifies_;
  MeasureFlags flags_;
  ResultOutputs outputs_;
};

}  // namespace

std::unique_ptr<Command> make_ab() { return std::make_unique<Ab>(); }

}  // namespace genscope::cli::bench
