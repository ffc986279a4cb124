#include "probe/nvidia/sleep.h"

#include <algorithm>
#include <filesystem>

namespace genscope::probe::nvml {

namespace {

std::string device_path(const std::string& sys_root, const std::string& pci) {
  return sys_root + "/bus/pci/devices/" + pci;
}

bool starts_with(base::KeptFile file, std::string_view start) {
  char buffer[64];
  std::string_view text;
  return file.read(buffer, text) == 0 && text.starts_with(start);
}

}  // namespace

SleepWatch::SleepWatch(const std::string& sys_root, const std::string& pci, base::Files& files)
    : status_(device_path(sys_root, pci) + "/power/runtime_status", files),
      control_(device_path(sys_root, pci) + "/power/control", files) {}

bool SleepWatch::asleep(bool thorough) noexcept {
  if (status_.path().empty()) return false;
  char buffer[64];
  std::string_view text;
  if (thorough) may_sleep_ = control_.read(buffer, text) != 0 || text != "on";
  if (!may_sleep_ && !thorough) return asleep_;
  asleep_ = status_.read(buffer, text) == 0 && (text == "suspended" || text == "suspending");
  return asleep_;
}

std::vector<PciGpu> find_pci_gpus(const std::string& sys_root, base::Files& files) {
  std::vector<PciGpu> gpus;
  std::error_code error;
  const std::filesystem::path folder = sys_root + "/bus/pci/devices";
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    const std::string pci = it->path().filename();
    const std::string path = device_path(sys_root, pci);
    if (!starts_with(base::KeptFile(path + "/vendor", files), "0x10de")) continue;
    if (!starts_with(base::KeptFile(path + "/class", files), "0x03")) continue;
    gpus.push_back({pci, SleepWatch(sys_root, pci, files).asleep(true)});
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const PciGpu& a, const PciGpu& b) { return a.pci < b.pci; });
  return gpus;
}

}  // namespace genscope::probe::nvml
