// The GPUs of one vendor, as sys_root/class/drm lists them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_reader.h"

namespace genscope::probe::drm {

inline constexpr std::uint32_t kAmd = 0x1002;
inline constexpr std::uint32_t kIntel = 0x8086;

struct Card {
  std::string name;    // "card0"
  std::string path;    // sys_root/class/drm/card0
  std::string device;  // its folder "device"
  std::string pci;     // "0000:03:00.0"; the card's name if it is not on PCI
  std::string driver;  // "amdgpu", "i915", "xe"; empty if unknown
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::string product;             // what the board says it is; mostly empty
  std::string hwmon;               // the folder of its sensors; empty if there is none
  std::vector<std::string> nodes;  // its names in /dev/dri: "card0", "renderD128"
};

// In the order of their numbers. Reads identity only, which the kernel keeps: wakes nothing.
std::vector<Card> find_cards(const std::string& sys_root, std::uint32_t vendor, base::Files& files);

// For people: "AMD Radeon RX 7900 XT/XTX", else "AMD GPU 1002:744c".
std::string name_of(const Card& card);
// "1002:744c".
std::string pci_id(const Card& card);
// Whether the chip is known to share the system's memory.
bool known_unified(const Card& card);

bool exists(const std::string& path);
// Names in a folder, sorted; empty if it cannot be read. Allocates.
std::vector<std::string> list(const std::string& folder);
// The text of a small file, trimmed; empty if it cannot be read. Allocates.
std::string read_text(const std::string& path, base::Files& files);

}  // namespace genscope::probe::drm
