// libnvidia-ml.so.1: loaded at run time, every function optional but the few without which there is
// nothing to do.
//
// Threads: load, init and shutdown on one thread, with no other call in flight.
#pragma once

#include <string>

#include "genscope/probe.h"
#include "probe/nvidia/nvml_abi.h"

namespace genscope::probe::nvml {

using ProcessCall = Return (*)(DeviceHandle, std::uint32_t* count, void* entries);
using NumberCall = Return (*)(DeviceHandle, std::uint32_t* value);
using TextCall = Return (*)(DeviceHandle, char* text, std::uint32_t size);

// Null: this driver does not export it. In the order of the table in library.cc.
struct Api {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*device_count)(std::uint32_t*) = nullptr;
  Return (*handle_by_index)(std::uint32_t, DeviceHandle*) = nullptr;
  Return (*handle_by_pci)(const char*, DeviceHandle*) = nullptr;
  Return (*pci_info)(DeviceHandle, PciInfo*) = nullptr;
  TextCall uuid = nullptr;
  TextCall name = nullptr;
  NumberCall index = nullptr;
  NumberCall architecture = nullptr;
  Return (*driver_version)(char*, std::uint32_t) = nullptr;
  Return (*cuda_version)(int*) = nullptr;

  Return (*memory_v2)(DeviceHandle, MemoryV2*) = nullptr;
  Return (*memory_v1)(DeviceHandle, MemoryV1*) = nullptr;
  Return (*utilization)(DeviceHandle, Utilization*) = nullptr;
  Return (*samples)(DeviceHandle, std::uint32_t type, std::uint64_t last_seen_us,
                    std::uint32_t* value_type, std::uint32_t* count, Sample*) = nullptr;
  Return (*field_values)(DeviceHandle, int count, FieldValue*) = nullptr;
  NumberCall power_usage = nullptr;
  Return (*total_energy)(DeviceHandle, std::uint64_t*) = nullptr;
  NumberCall enforced_power_limit = nullptr;

  Return (*clock)(DeviceHandle, std::uint32_t type, std::uint32_t*) = nullptr;
  Return (*max_clock)(DeviceHandle, std::uint32_t type, std::uint32_t*) = nullptr;
  Return (*temperature_v)(DeviceHandle, TemperatureV1*) = nullptr;
  Return (*temperature)(DeviceHandle, std::uint32_t sensor, std::uint32_t*) = nullptr;
  Return (*temperature_threshold)(DeviceHandle, std::uint32_t type, std::uint32_t*) = nullptr;
  Return (*margin_temperature)(DeviceHandle, MarginTemperatureV1*) = nullptr;
  NumberCall fan_speed = nullptr;
  Return (*event_reasons)(DeviceHandle, std::uint64_t*) = nullptr;
  Return (*throttle_reasons)(DeviceHandle, std::uint64_t*) = nullptr;

  NumberCall link_generation = nullptr;
  NumberCall link_width = nullptr;
  Return (*pcie_throughput)(DeviceHandle, std::uint32_t counter, std::uint32_t*) = nullptr;
  Return (*ecc_errors)(DeviceHandle, std::uint32_t error, std::uint32_t counter,
                       std::uint64_t*) = nullptr;

  // [0]: compute, [1]: graphics, [2]: MPS; versions 3, 2, 1.
  ProcessCall processes_v3[3] = {};
  ProcessCall processes_v2[3] = {};
  ProcessCall processes_v1[3] = {};
  Return (*process_utilization)(DeviceHandle, ProcessUtilizationSample*, std::uint32_t* count,
                                std::uint64_t last_seen_us) = nullptr;

  Return (*mig_mode)(DeviceHandle, std::uint32_t* current, std::uint32_t* pending) = nullptr;
  NumberCall mig_max_count = nullptr;
  Return (*mig_handle)(DeviceHandle, std::uint32_t index, DeviceHandle*) = nullptr;
  NumberCall gpu_instance = nullptr;
  NumberCall compute_instance = nullptr;
  Return (*attributes)(DeviceHandle, DeviceAttributes*) = nullptr;

  Return (*gpm_support)(DeviceHandle, GpmSupport*) = nullptr;
  Return (*gpm_alloc)(GpmSample*) = nullptr;
  Return (*gpm_free)(GpmSample) = nullptr;
  Return (*gpm_sample)(DeviceHandle, GpmSample) = nullptr;
  Return (*gpm_mig_sample)(DeviceHandle, std::uint32_t gpu_instance, GpmSample) = nullptr;
  Return (*gpm_metrics)(GpmMetricsGet*) = nullptr;
};

class Library {
 public:
  Library() = default;
  ~Library();  // shuts down and unloads
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  // Loads `path`, or if that is empty libnvidia-ml.so.1, else libnvidia-ml.so. Does not talk to the
  // driver. A second call does nothing.
  ProbeState load(const std::string& path);
  // Connects to the driver; wakes no GPU. A second call does nothing.
  ProbeState init();
  void shutdown() noexcept;

  bool initialized() const noexcept { return initialized_; }
  const Api& api() const noexcept { return api_; }
  // The driver's own text of a code; never null.
  const char* text(Return code) const noexcept;

 private:
  ProbeState resolve();

  void* handle_ = nullptr;
  bool initialized_ = false;
  Api api_;
};

}  // namespace genscope::probe::nvml
