// genscope probe-child: hidden, for genscope itself.
#include "cli/probe_child.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <climits>
#include <csignal>

#include "cli/command.h"

namespace genscope::cli {
namespace {

class ProbeChild final : public Command {
 public:
  const char* name() const override { return "probe-child"; }
  const char* summary() const override { return "Serve probes to another genscope"; }

  void add_options(CLI::App& app) override {
    app.group("");  // not in the help
    app.add_option("--probes", probes_, "Names, separated by commas")->required()->delimiter(',');
    app.add_option("--pid", pid_, "Root of the watched tree; 0: the process that started this one");
    app.add_flag("!--no-children", options_.children, "Without its descendants");
    app.add_flag("!--no-gpu-memory", options_.gpu_memory);
    app.add_flag("!--no-gpu-utilization", options_.gpu_utilization);
    app.add_flag("!--no-gpu-temperature", options_.gpu_temperature);
    app.add_flag("!--no-gpu-power", options_.gpu_power);
    app.add_flag("!--no-gpu-processes", options_.gpu_processes);
    app.add_flag("--gpu-counters", options_.gpu_counters);
    app.add_option("--fast-ns", sampling_.fast_ns)->check(CLI::PositiveNumber);
    app.add_option("--normal-ns", sampling_.normal_ns)->check(CLI::PositiveNumber);
    app.add_option("--slow-ns", sampling_.slow_ns)->check(CLI::PositiveNumber);
    app.add_option("--budget", sampling_.budget_ratio)->check(CLI::Range(0.0, 64.0));
  }

  Result<int> run(const Globals&) override {
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
  ProbeOptions options_ = probe_options_from_environment();
  SamplerOptions sampling_;
};

std::string own_path() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "genscope";
}

}  // namespace

std::vector<std::string> probe_child_command(const std::vector<std::string>& probes,
                                             const ProbeOptions& options,
                                             const SamplerOptions& sampling) {
  std::vector<std::string> command = {
      own_path(),
      "probe-child",
      fmt::format("--probes={}", fmt::join(probes, ",")),
      fmt::format("--pid={}", options.pid > 0 ? options.pid : getpid()),
      fmt::format("--fast-ns={}", sampling.fast_ns),
      fmt::format("--normal-ns={}", sampling.normal_ns),
      fmt::format("--slow-ns={}", sampling.slow_ns),
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
    probes.push_back(std::move(*probe));
  }
  return probes;
}

std::vector<std::string> all_probe_names() {
  std::vector<std::string> names;
  for (const ProbeInfo& info : all_probes()) names.emplace_back(info.name);
  return names;
}

std::unique_ptr<Command> make_probe_child() { return std::make_unique<ProbeChild>(); }

}  // namespace genscope::cli
