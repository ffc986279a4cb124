// The GPUs and MIG instances of this machine: found, matched with what is known, found again.
//
// A GPU is known by its UUID, else by its PCI address; indices change between boots and handles
// between enumerations. One that was first seen asleep is known by its address for good, because
// asking for its UUID would wake it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probe/nvidia/device.h"

namespace genscope::probe::nvml {

inline constexpr const char* kAsleep = "the GPU is suspended, and reading would wake it";

class Gpus {
 public:
  explicit Gpus(const Shared& shared) : shared_(shared) {}

  // Adds those that sysfs knows and that sleep. True if there is no other: leave the driver alone.
  bool add_sleepers(Board& board);
  // Asks the driver for all that are awake. The helper must be paused.
  void enumerate(Board& board, std::int64_t now_ns);
  // How many the driver counted, and how many of those it lets us read.
  std::size_t counted() const noexcept { return counted_; }
  std::size_t readable() const noexcept;
  // Why the first that cannot be read cannot; null if all can.
  const char* refusal() const noexcept { return refusal_; }

  std::vector<std::unique_ptr<Device>>& all() noexcept { return devices_; }

 private:
  struct Found {
    DeviceHandle handle = nullptr;
    Identity identity;
  };
  std::vector<Found> ask_driver(std::vector<Return>& refused) const;
  Device* known(const Identity& identity) noexcept;
  Device& add(EntityKind kind, std::string id);
  void take(Board& board, const Found& found, std::int64_t now_ns);
  void take_instances(Board& board, Device& gpu, std::int64_t now_ns);
  void take_instance(Board& board, Device& gpu, DeviceHandle handle, std::int64_t now_ns);
  void add_refused(Board& board, const std::vector<Return>& codes);

  const Shared& shared_;
  std::vector<std::unique_ptr<Device>> devices_;  // grows only; a device keeps its place
  std::vector<PciGpu> pci_gpus_;
  std::vector<const Device*> seen_;  // in the enumeration under way
  std::size_t counted_ = 0;
  const char* refusal_ = nullptr;
};

}  // namespace genscope::probe::nvml
