#include "probe/nvidia/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <string_view>

namespace genscope::probe::nvml {

namespace {

constexpr const char* kInstall =
    "Install the NVIDIA driver, or name its libnvidia-ml.so.1 in GENSCOPE_NVML_LIBRARY.";

template <typename Function>
bool find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  return function != nullptr;
}

ProbeState missing(const char* symbol) {
  return {ProbeState::Kind::broken,
          std::string("the NVIDIA library lacks ") + symbol + ", which every driver since 2013 has",
          "Check that GENSCOPE_NVML_LIBRARY names a libnvidia-ml.so.1."};
}

void find_metrics(void* library, Api& api) {
  find(library, "nvmlDeviceGetMemoryInfo_v2", api.memory_v2);
  find(library, "nvmlDeviceGetMemoryInfo", api.memory_v1);
  find(library, "nvmlDeviceGetUtilizationRates", api.utilization);
  find(library, "nvmlDeviceGetSamples", api.samples);
  find(library, "nvmlDeviceGetFieldValues", api.field_values);
  find(library, "nvmlDeviceGetPowerUsage", api.power_usage);
  find(library, "nvmlDeviceGetTotalEnergyConsumption", api.total_energy);
  find(library, "nvmlDeviceGetEnforcedPowerLimit", api.enforced_power_limit);
  find(library, "nvmlDeviceGetClockInfo", api.clock);
  find(library, "nvmlDeviceGetMaxClockInfo", api.max_clock);
  find(library, "nvmlDeviceGetTemperatureV", api.temperature_v);
  find(library, "nvmlDeviceGetTemperature", api.temperature);
  find(library, "nvmlDeviceGetTemperatureThreshold", api.temperature_threshold);
  find(library, "nvmlDeviceGetMarginTemperature", api.margin_temperature);
  find(library, "nvmlDeviceGetFanSpeed", api.fan_speed);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", api.event_reasons);
  find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", api.throttle_reasons);
  find(library, "nvmlDeviceGetCurrPcieLinkGeneration", api.link_generation);
  find(library, "nvmlDeviceGetCurrPcieLinkWidth", api.link_width);
  find(library, "nvmlDeviceGetPcieThroughput", api.pcie_throughput);
  find(library, "nvmlDeviceGetTotalEccErrors", api.ecc_errors);
}

void find_processes(void* library, Api& api) {
  constexpr const char* kLists[] = {"nvmlDeviceGetComputeRunningProcesses",
                                    "nvmlDeviceGetGraphicsRunningProcesses",
                                    "nvmlDeviceGetMPSComputeRunningProcesses"};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string base = kLists[i];
    find(library, (base + "_v3").c_str(), api.processes_v3[i]);
    find(library, (base + "_v2").c_str(), api.processes_v2[i]);
    find(library, base.c_str(), api.processes_v1[i]);
  }
  find(library, "nvmlDeviceGetProcessUtilization", api.process_utilization);
}

void find_instances(void* library, Api& api) {
  find(library, "nvmlDeviceGetMigMode", api.mig_mode);
  find(library, "nvmlDeviceGetMaxMigDeviceCount", api.mig_max_count);
  find(library, "nvmlDeviceGetMigDeviceHandleByIndex", api.mig_handle);
  find(library, "nvmlDeviceGetGpuInstanceId", api.gpu_instance);
  find(library, "nvmlDeviceGetComputeInstanceId", api.compute_instance);
  find(library, "nvmlDeviceGetAttributes_v2", api.attributes);
  find(library, "nvmlGpmQueryDeviceSupport", api.gpm_support);
  find(library, "nvmlGpmSampleAlloc", api.gpm_alloc);
  find(library, "nvmlGpmSampleFree", api.gpm_free);
  find(library, "nvmlGpmSampleGet", api.gpm_sample);
  find(library, "nvmlGpmMigSampleGet", api.gpm_mig_sample);
  find(library, "nvmlGpmMetricsGet", api.gpm_metrics);
}

}  // namespace

Library::~Library() {
  shutdown();
  if (handle_ != nullptr) ::dlclose(handle_);
}

ProbeState Library::load(const std::string& path) {
  if (handle_ != nullptr) return {};
  std::string why;
  bool found = false;  // a file that exists and yet does not load is broken, not absent
  const char* const names[] = {path.empty() ? "libnvidia-ml.so.1" : path.c_str(),
                               path.empty() ? "libnvidia-ml.so" : nullptr};
  for (const char* const name : names) {
    if (name == nullptr || handle_ != nullptr) continue;
    handle_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) continue;
    const char* const error = ::dlerror();
    const std::string text = error != nullptr ? error : "unknown error of the loader";
    const bool exists =
        path.empty() ? text.find("No such file") == std::string::npos : ::access(name, F_OK) == 0;
    if (why.empty() || (exists && !found)) why = text;
    found = found || exists;
  }
  if (handle_ != nullptr) return resolve();
  if (found) {
    return {ProbeState::Kind::broken, "the NVIDIA library does not load: " + why,
            "Reinstall the NVIDIA driver of this machine's architecture."};
  }
  return {ProbeState::Kind::absent, "no NVIDIA library: " + why, kInstall};
}

ProbeState Library::resolve() {
  Api& api = api_;
  const char* lacking = nullptr;
  const auto need = [&](const char* symbol, auto& function) {
    if (!find(handle_, symbol, function) && lacking == nullptr) lacking = symbol;
  };
  need("nvmlInit_v2", api.init);
  need("nvmlShutdown", api.shutdown);
  need("nvmlErrorString", api.error_string);
  need("nvmlDeviceGetCount_v2", api.device_count);
  need("nvmlDeviceGetHandleByIndex_v2", api.handle_by_index);
  const bool pci = find(handle_, "nvmlDeviceGetPciInfo_v3", api.pci_info);
  const bool uuid = find(handle_, "nvmlDeviceGetUUID", api.uuid);
  if (!pci && !uuid && lacking == nullptr) lacking = "nvmlDeviceGetUUID";
  if (lacking != nullptr) {
    ProbeState state = missing(lacking);
    ::dlclose(handle_);
    handle_ = nullptr;
    api_ = {};
    return state;
  }
  find(handle_, "nvmlDeviceGetHandleByPciBusId_v2", api.handle_by_pci);
  find(handle_, "nvmlDeviceGetName", api.name);
  find(handle_, "nvmlDeviceGetIndex", api.index);
  find(handle_, "nvmlDeviceGetArchitecture", api.architecture);
  find(handle_, "nvmlSystemGetDriverVersion", api.driver_version);
  if (!find(handle_, "nvmlSystemGetCudaDriverVersion_v2", api.cuda_version)) {
    find(handle_, "nvmlSystemGetCudaDriverVersion", api.cuda_version);
  }
  find_metrics(handle_, api);
  find_processes(handle_, api);
  find_instances(handle_, api);
  return {};
}

ProbeState Library::init() {
  if (initialized_) return {};
  const Return code = api_.init();
  switch (code) {
    case kSuccess:
      initialized_ = true;
      return {};
    case kDriverNotLoaded:
      return {ProbeState::Kind::absent, "the NVIDIA kernel driver is not loaded",
              "Load the nvidia module (modprobe nvidia), then try again."};
    case kLibraryNotFound:
      return {ProbeState::Kind::absent, "a part of the NVIDIA driver's library was not found",
              kInstall};
    case kLibRmVersionMismatch:
      return {ProbeState::Kind::broken,
              "NVIDIA library and kernel module differ in version: the driver was upgraded and the "
              "module not reloaded",
              "Reboot, or unload and load the nvidia modules."};
    case kNoPermission:
      return {ProbeState::Kind::denied, "the NVIDIA driver does not let this user in",
              "Allow reading and writing /dev/nvidiactl and /dev/nvidia*."};
    default:
      return {ProbeState::Kind::broken,
              std::string("the NVIDIA library does not start: ") + text(code), ""};
  }
}

void Library::shutdown() noexcept {
  if (initialized_) api_.shutdown();
  initialized_ = false;
}

const char* Library::text(Return code) const noexcept {
  const char* const said = api_.error_string != nullptr ? api_.error_string(code) : nullptr;
  return said != nullptr ? said : "unknown error";
}

}  // namespace genscope::probe::nvml
