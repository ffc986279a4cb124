// genscope probe-child: hidden, for genscope itself (watch/probe_child.h starts it).
#include <unistd.h>

#include <cmath>
#include <csignal>

#include <genscope/config.h>
#include <genscope/probe.h>

#include "cli/command.h"

namespace genscope::cli {
namespace {

constexpr double kLongestMs = 3'600'000.0;

class ProbeChild final : public Command {
 public:
  const char* name() const override { return "probe-child"; }
  const char* summary() const override { return "Serve probes to another genscope"; }
  bool hidden() const override { return true; }

  void add_options(Options& options) override {
    options.add("--probes", probes_, "LIST", "Names, separated by commas").required().split_at(',');
    options.add("--pid", pid_, "PID",
                "Root of the watched tree; 0: the process that started this one");
    options.flag("!--no-children", options_.children, "Without its descendants");
    options.flag("!--no-gpu-memory", options_.gpu_memory);
    options.flag("!--no-gpu-utilization", options_.gpu_utilization);
    options.flag("!--no-gpu-temperature", options_.gpu_temperature);
    options.flag("!--no-gpu-power", options_.gpu_power);
    options.flag("!--no-gpu-processes", options_.gpu_processes);
    options.flag("--gpu-counters", options_.gpu_counters);
    options.add("--interval", fast_ms_, "MS", "Period of the fast tier").range(0, kLongestMs);
    options.add("--normal", normal_ms_, "MS", "Of the normal tier; 0: 1 s or the interval")
        .range(0, kLongestMs);
    options.add("--slow", slow_ms_, "MS", "Of the slow tier; 0: 5 s or the interval")
        .range(0, kLongestMs);
    options.add("--budget", sampling_.budget_ratio, "RATIO", "").range(0, 64);
  }

  Result<int> run(const Globals&) override {
    const TierPeriods usual = periods(fast_ms_ / 1e3);
    sampling_.fast_ns = usual.fast_ns;
    sampling_.normal_ns = normal_ms_ > 0 ? std::llround(normal_ms_ * 1e6) : usual.normal_ns;
    sampling_.slow_ns = slow_ms_ > 0 ? std::llround(slow_ms_ * 1e6) : usual.slow_ns;
    // Keys are for the parent: it closes the pipe when it wants us gone.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    std::signal(SIGTSTP, SIG_IGN);
    options_.pid = pid_ > 0 ? pid_ : getppid();
    return serve_probes(probes_, options_, sampling_, STDOUT_FILENO);
  }

 private:
  std::vector<std::string> probes_;
  int pid_ = 0;
  double fast_ms_ = 100, normal_ms_ = 0, slow_ms_ = 0;
  ProbeOptions options_ = probe_options_from_environment();
  SamplerOptions sampling_;
};

}  // namespace

std::unique_ptr<Command> make_probe_child() { return std::make_unique<ProbeChild>(); }

}  // namespace genscope::cli
