// Who a GPU is: what stays the same over re-enumeration, and what people call it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <genscope/trace.h>

#include "probe/nvidia/library.h"

namespace genscope::probe::nvml {

struct Identity {
  std::string uuid;  // "GPU-..."; empty if the driver does not tell
  std::string pci;   // "0000:01:00.0", as sysfs writes it; empty if the driver does not tell
};
// Both empty: the device could not be asked. `code` is why.
Identity identify(const Api& api, DeviceHandle device, Return& code);

// Name and facts; `id` is the entity's.
Entity describe(const Api& api, DeviceHandle device, std::string id, const Identity& identity);

// The number of a MIG instance: kAllOnes32 if the driver does not tell.
std::uint32_t ask_number(NumberCall call, DeviceHandle device) noexcept;
Entity describe_instance(const Api& api, DeviceHandle device, const std::string& parent_id,
                         std::uint32_t gpu_instance, std::uint32_t compute_instance);

// What of a GPU's MIG instances is there now: the handle of each index, null where there is a hole.
struct MigInstances {
  static constexpr std::size_t kMax = 64;
  bool enabled = false;
  std::size_t count = 0;
  DeviceHandle handles[kMax] = {};

  bool operator==(const MigInstances&) const = default;
};
// kNotSupported: this GPU or driver knows no MIG.
Return find_instances(const Api& api, DeviceHandle device, MigInstances& found) noexcept;

}  // namespace genscope::probe::nvml
