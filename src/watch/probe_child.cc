#include "watch/probe_child.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace genscope::watch {
namespace {

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

}  // namespace genscope::watch
