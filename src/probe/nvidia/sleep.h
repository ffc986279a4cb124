// Which NVIDIA GPUs sleep, by sysfs: reading a device's own power files wakes nothing, and asking
// the driver about it would.
#pragma once

#include <string>
#include <vector>

#include "base/file_reader.h"

namespace genscope::probe::nvml {

class SleepWatch {
 public:
  SleepWatch() = default;
  SleepWatch(const std::string& sys_root, const std::string& pci, base::Files& files);

  // Whether the GPU sleeps now. A device whose power control is "on" cannot fall asleep: of it only
  // every `thorough` look reads the file. What cannot be read counts as awake.
  bool asleep(bool thorough) noexcept;

 private:
  base::KeptFile status_, control_;
  bool may_sleep_ = true;
  bool asleep_ = false;
};

struct PciGpu {
  std::string pci;  // "0000:01:00.0"
  bool asleep = false;
};
// Every NVIDIA display controller under sys_root, by address. Empty where sysfs is not there.
std::vector<PciGpu> find_pci_gpus(const std::string& sys_root, base::Files& files);

}  // namespace genscope::probe::nvml
