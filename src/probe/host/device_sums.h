// Bytes in and out over devices that come and go (disks, network interfaces): sums that only grow.
// A device that goes keeps its share; one whose counters start again adds from there on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace genscope::probe {

class DeviceSums {
 public:
  struct Device {
    char name[32] = {};
    bool counted = false;  // belongs to the sums
    std::uint64_t in_bytes = 0, out_bytes = 0;
  };

  // Allocates for that many devices; further ones are not counted.
  explicit DeviceSums(std::size_t capacity) { devices_.reserve(capacity); }

  // The device of that name; a new one is `added`. Null if there is no room or the name is too
  // long.
  Device* find(std::string_view name, bool& added) noexcept {
    added = false;
    if (name.size() >= sizeof Device::name) return nullptr;
    for (Device& device : devices_) {
      if (name == device.name) return &device;
    }
    if (devices_.size() == devices_.capacity()) return nullptr;
    added = true;
    Device device;
    std::copy(name.begin(), name.end(), device.name);
    devices_.push_back(device);
    return &devices_.back();
  }

  void update(Device& device, std::uint64_t in_bytes, std::uint64_t out_bytes) noexcept {
    in_bytes_ += growth(device.in_bytes, in_bytes);
    out_bytes_ += growth(device.out_bytes, out_bytes);
    device.in_bytes = in_bytes;
    device.out_bytes = out_bytes;
  }

  double in_bytes() const noexcept { return static_cast<double>(in_bytes_); }
  double out_bytes() const noexcept { return static_cast<double>(out_bytes_); }

 private:
  static std::uint64_t growth(std::uint64_t before, std::uint64_t now) noexcept {
    return now >= before ? now - before : now;
  }
  std::vector<Device> devices_;
  std::uint64_t in_bytes_ = 0, out_bytes_ = 0;
};

}  // namespace genscope::probe
