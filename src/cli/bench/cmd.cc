// genscope bench CMD...
#include <fmt/format.h>

#include "bench/suite/fields.h"
#include "cli/bench/measure_cells.h"
#include "cli/bench/measure_flags.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"

namespace genscope::cli::bench {
namespace {

constexpr const char* kCmdFooter =
    "`genscope bench CMD` is short for `genscope bench cmd CMD`. Each run is a process of\n"
    "its own. Runs are added until the interval of the median is +-2 % or the budget ends.\n"
    "Several commands run in turns, each until its own interval is narrow enough;\n"
    "`genscope bench ab` judges one against another.\n\n"
    "Examples:\n"
    "  genscope bench 'python gen.py'\n"
    "  genscope bench 'python gen.py' 'python gen.py --compile' 'python gen.py --half'\n"
    "  genscope bench 'python gen.py --steps {steps}' --parameter steps 10,20,30\n"
    "  genscope bench -N 'tinydiff --steps 4' --export json=result.json\n"
    "  genscope bench 'curl -fs localhost:8000' --setup-once 'python serve.py' --ready-port "
    "8000\n\n"
    "Exit codes:\n"
    "  0    measured\n"
    "  2    usage\n"
    "  4    the command failed\n"
    "  5    the environment: no space, an I/O error\n"
    "  7    nothing was measured\n"
    "  130  interrupted; what was measured is shown\n";

class Cmd final : public Command {
 public:
  const char* name() const override { return "cmd"; }
  const char* summary() const override { return "Measure commands; the default verb"; }
  void add_options(Options& options) override {
    options.add("CMD", commands_, "", "Command; several: each by itself, in turns").required();
    flags_.add_options(options);
    outputs_.add_options(options);
    options.footer(kCmdFooter);
  }
  Result<int> run(const Globals& globals) override {
    for (const Status& checked :
         {flags_.check(), outputs_.check(), flags_.check_commands(commands_)}) {
      if (!checked) return checked.error();
    }
    const Interruptible interruptible;
    core::BenchResult result = begin_result("cmd", flags_.seed());
    const std::vector<CellPlan> plans = plan(result);
    CellMeasurer measurer(flags_, globals);
    if (const Status done = measurer.run(plans, result); !done) return done.error();
    return outputs_.finish(result, flags_.strict(), globals);
  }

 private:
  std::vector<CellPlan> plan(core::BenchResult& result) const {
    std::vector<CellPlan> plans;
    const bool several = commands_.size() > 1;
    if (!several) result.labels["A"] = commands_[0];
    const std::vector<core::Params> points = flags_.points();
    for (std::size_t turn = 0; turn < points.size(); ++turn) {
      const core::Params& point = points[turn];
      for (std::size_t i = 0; i < commands_.size(); ++i) {
        CellPlan one;
        one.turn = turn;
        const std::string id = core::cell_id(point);
        one.id = several ? fmt::format("command{}{}{}", i + 1, point.empty() ? "" : ",",
                                       point.empty() ? "" : id)
                         : id;
        if (several) result.labels[one.id] = commands_[i];
        one.title = several ? commands_[i] : id;
        one.params = point;
        one.commands = {commands_[i]};
        plans.push_back(std::move(one));
      }
    }
    return plans;
  }

  std::vector<std::string> commands_;
  MeasureFlags flags_;
  ResultOutputs outputs_;
};

}  // namespace

std::unique_ptr<Command> make_cmd() { return std::make_unique<Cmd>(); }

}  // namespace genscope::cli::bench
