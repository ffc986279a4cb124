#include <algorithm>
#include <cstdlib>

#include "base/suggest.h"
#include "config/gpu_probes.h"
#include "genscope/probe.h"
#include "probe/builtin.h"

namespace genscope {
namespace {

using Factory = std::unique_ptr<Probe> (*)(const ProbeOptions&, base::Files&);

constexpr ProbeInfo kProbes[] = {
    {"process", "CPU time, memory, threads, faults and I/O of a process and its children", false,
     false},
    {"system", "CPUs, memory, pressure, disks and network of this machine", false, false},
    {"cgroup", "limits, use and pressure of the control group (container)", false, false},
    {"rapl", "energy of the CPU packages", false, false},
    {"nvml", "NVIDIA GPUs, through the driver's library", true, true},
    {"amdgpu", "AMD GPUs, through sysfs", false, true},
    {"intel", "Intel GPUs, through sysfs", false, true},
};
constexpr Factory kFactories[] = {
    probe::make_process_probe, probe::make_system_probe, probe::make_cgroup_probe,
    probe::make_rapl_probe,    probe::make_nvml_probe,   probe::make_amdgpu_probe,
    probe::make_intel_probe,
};
static_assert(std::size(kProbes) == std::size(kFactories));

// The settings name them, too, and cannot look here.
consteval bool settings_name_the_same_gpus() {
  std::size_t next = 0;
  for (const ProbeInfo& probe : kProbes) {
    if (!probe.watches_gpus) continue;
    if (next == config::kGpuProbes.size() || config::kGpuProbes[next++] != probe.name) return false;
  }
  return next == config::kGpuProbes.size();
}
static_assert(settings_name_the_same_gpus());

void set_from(const char* variable, std::string& value) {
  const char* const text = std::getenv(variable);
  if (text != nullptr && *text != '\0') value = text;
}

}  // namespace

std::span<const ProbeInfo> all_probes() noexcept { return kProbes; }

std::span<const std::string_view> gpu_probes() noexcept { return config::kGpuProbes; }

bool is_gpu_probe(std::string_view name) noexcept {
  return std::ranges::find(gpu_probes(), name) != gpu_probes().end();
}

ProbeOptions probe_options_from_environment() {
  ProbeOptions options;
  set_from("GENSCOPE_PROC_ROOT", options.proc_root);
  set_from("GENSCOPE_SYS_ROOT", options.sys_root);
  set_from("GENSCOPE_NVML_LIBRARY", options.nvml_library);
  return options;
}

Result<std::unique_ptr<Probe>> make_probe(std::string_view wanted, const ProbeOptions& options) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < std::size(kProbes); ++i) {
    if (kProbes[i].name == wanted) return kFactories[i](options, base::Files::system());
    known.emplace_back(kProbes[i].name);
  }
  std::string message = "no probe is called '" + std::string(wanted) + "'";
  const std::string meant = base::nearest(wanted, known);
  if (!meant.empty()) message += "; did you mean '" + meant + "'?";
  message += "; there are:";
  for (const std::string& name : known) message += " " + name;
  return Error{ErrorCode::invalid_argument, message};
}

}  // namespace genscope
