// genscope probe-child: hidden, for genscope itself.
#include "cli/probe_child.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include <genscope/config.h>

#include "cli/command.h"

namespace genscope::cli {
namespace {

constexpr double kLongestMs = 3'600'000.0;

class ProbeChild final : public Command {
 public:
  const char* name() const override { return "probe-child"; }
  const char* summary() const override { return "Serve probes to another genscope"; }

  void add_options(Options& options) override {
    options.hide();
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

std::string own_path() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  // After an upgrade the link says "... (deleted)"; the link itself still opens.
  return failed || !std::filesystem::exists(path, failed) ? "/proc/self/exe" : path.string();
}

std::string ms(std::int64_t ns) { return fmt::format("{}", static_cast<double>(ns) / 1e6); }

}  // namespace

std::vector<std::string> probe_child_command(const std::vector<std::string>& probes,
                                             const ProbeOptions& options,
                                             const SamplerOptions& sampling) {
  std::vector<std::string> command = {
      own_path(),
      "probe-child",
      fmt::format("--probes={}", fmt::join(probes, ",")),
      fmt::format("--pid={}", options.pid > 0 ? options.pid : getpid()),
      "--interval=" + ms(sampling.fast_ns),
      "--normal=" + ms(sampling.normal_ns),
      "--slow=" + ms(sampling.slow_ns),
      fmt::format("--budget={}", sampling.budget_ratio)};
  if (!options.children) command.emplace_back("--no-children");
  if (!options.gpu_memory) command.emplace_back("--no-gpu-memory");
  if (!options.gpu_utilization) command.emplace_back("--no-gpu-utilization");
  if (!options.gpu_temperature) command.emplace_back("--no-gpu-temperature");
  if (!options.gpu_power) command.emplace_back("--no-gpu-power");
  if (!options.gpu_processes) command.emplace_back("--no-gpu-processes");
  if (options.gpu_counters) command.emplace_back("--gpu-counters");
  return command;
}

Result<std::vector<std::unique_ptr<Probe>>> make_probes(const std::vector<std::string>& names,
                                                        const ProbeOptions& options,
                                                        const SamplerOptions& sampling) {
  std::vector<std::unique_ptr<Probe>> probes;
  for (const std::string& name : names) {
    const auto known = all_probes();
    const auto info = std::find_if(known.begin(), known.end(),
                                   [&](const ProbeInfo& one) { return one.name == name; });
    if (info != known.end() && info->loads_driver_code) {
      probes.push_back(make_remote_probe(probe_child_command({name}, options, sampling)));
      continue;
    }
    Result<std::unique_ptr<Probe>> probe = make_probe(name, options);
    if (!probe) return probe.error();
    probes.push_back(std::move(probe).value());
  }
  return probes;
}

std::vector<ProbeReport> named_reports(const Sampler& sampler,
                                       const std::vector<std::string>& names) {
  std::vector<ProbeReport> reports = sampler.reports();
  for (std::size_t i = 0; i < std::min(reports.size(), names.size()); ++i) {
    reports[i].name = names[i];
  }
  return reports;
}

std::vector<std::string> all_probe_names() {
  std::vector<std::string> names;
  for (const ProbeInfo& info : all_probes()) names.emplace_back(info.name);
  return names;
}

std::unique_ptr<Command> make_probe_child() { return std::make_unique<ProbeChild>(); }

}  // namespace genscope::cli
