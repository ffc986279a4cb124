#include "store/import/names.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/checksum.h"
#include "base/text.h"

namespace genscope::store {

std::string short_name(std::string_view text) {
  if (text.size() <= kMaxNameBytes) return std::string(text);
  std::array<char, 18> sum{};
  std::snprintf(sum.data(), sum.size(), "~%016llx",
                static_cast<unsigned long long>(base::checksum(text.data(), text.size())));
  return std::string(base::cut_utf8(text, kMaxNameBytes - 17)) + sum.data();
}

std::string allocator_of(double device_type, double device_id) {
  constexpr double kMostDevices = 1e6;
  const int id = std::isfinite(device_id) && std::fabs(device_id) < kMostDevices
                     ? static_cast<int>(device_id)
                     : -1;
  std::string name = "allocator:";
  if (device_type == 0) {
    name += "cpu";
  } else if (device_type == 1) {
    name += "cuda";
  } else if (device_type == 6) {
    name += "hip";
  } else if (device_type == 12) {
    name += "xpu";
  } else if (device_type == 13) {
    name += "mps";
  } else {
    name += "device";
  }
  if (id >= 0) name += ":" + std::to_string(id);
  return name;
}

}  // namespace genscope::store
