#include "probe/drm/card.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "probe/drm/text.h"

namespace genscope::probe::drm {
namespace {

struct KnownChip {
  std::uint32_t vendor, device;
  std::string_view name;
  bool unified = false;
};

// A few, for people; what is not here is shown by its number.
constexpr KnownChip kChips[] = {
    {kAmd, 0x67df, "AMD Radeon RX 470/480/570/580"},
    {kAmd, 0x66af, "AMD Radeon VII"},
    {kAmd, 0x7340, "AMD Radeon RX 5500 XT"},
    {kAmd, 0x731f, "AMD Radeon RX 5600 XT/5700 XT"},
    {kAmd, 0x73bf, "AMD Radeon RX 6800/6900 XT"},
    {kAmd, 0x73df, "AMD Radeon RX 6700 XT/6750 XT"},
    {kAmd, 0x73ff, "AMD Radeon RX 6600/6600 XT"},
    {kAmd, 0x744c, "AMD Radeon RX 7900 XT/XTX"},
    {kAmd, 0x747e, "AMD Radeon RX 7700 XT/7800 XT"},
    {kAmd, 0x7480, "AMD Radeon RX 7600"},
    {kAmd, 0x7550, "AMD Radeon RX 9070/9070 XT"},
    {kAmd, 0x738c, "AMD Instinct MI100"},
    {kAmd, 0x740f, "AMD Instinct MI210"},
    {kAmd, 0x7408, "AMD Instinct MI250X"},
    {kAmd, 0x740c, "AMD Instinct MI250X"},
    {kAmd, 0x74a0, "AMD Instinct MI300A", true},
    {kAmd, 0x74a1, "AMD Instinct MI300X"},
    {kAmd, 0x74a5, "AMD Instinct MI325X"},
    {kAmd, 0x163f, "AMD Van Gogh", true},
    {kAmd, 0x1681, "AMD Radeon 680M (Rembrandt)", true},
    {kAmd, 0x15bf, "AMD Radeon 780M (Phoenix)", true},
    {kAmd, 0x150e, "AMD Radeon 890M (Strix Point)", true},
    {kAmd, 0x1586, "AMD Radeon 8060S (Strix Halo)", true},
    {kIntel, 0x56a0, "Intel Arc A770"},
    {kIntel, 0x56a1, "Intel Arc A750"},
    {kIntel, 0x56a2, "Intel Arc A580"},
    {kIntel, 0x56a5, "Intel Arc A380"},
    {kIntel, 0x56a6, "Intel Arc A310"},
    {kIntel, 0xe20b, "Intel Arc B580"},
    {kIntel, 0xe20c, "Intel Arc B570"},
    {kIntel, 0x56c0, "Intel Data Center GPU Flex 170"},
    {kIntel, 0x0bd5, "Intel Data Center GPU Max 1550"},
    {kIntel, 0x9a49, "Intel Iris Xe (Tiger Lake)", true},
    {kIntel, 0x46a6, "Intel Iris Xe (Alder Lake)", true},
    {kIntel, 0xa7a0, "Intel Iris Xe (Raptor Lake)", true},
    {kIntel, 0x7d55, "Intel Arc (Meteor Lake)", true},
    {kIntel, 0x64a0, "Intel Arc 130V/140V (Lunar Lake)", true},
};

const KnownChip* chip_of(const Card& card) {
  for (const KnownChip& chip : kChips) {
    if (chip.vendor == card.vendor_id && chip.device == card.device_id) return &chip;
  }
  return nullptr;
}

// "card12", but not "card1-DP-1", which is a connector.
bool is_card(std::string_view name) {
  return name.size() > 4 && name.starts_with("card") &&
         name.find_first_not_of("0123456789", 4) == std::string_view::npos;
}

void identify(Card& card, base::Files& files) {
  const std::string uevent = read_text(card.device + "/uevent", files);
  card.pci = uevent_value(uevent, "PCI_SLOT_NAME");
  card.driver = uevent_value(uevent, "DRIVER");
  std::string_view device = uevent_value(uevent, "PCI_ID");
  std::string_view vendor = base::next_part(device, ':');
  const std::string vendor_file = read_text(card.device + "/vendor", files);
  if (!parse_hex(vendor_file, card.vendor_id)) parse_hex(vendor, card.vendor_id);
  if (!parse_hex(device, card.device_id)) {
    parse_hex(read_text(card.device + "/device", files), card.device_id);
  }
  card.product = read_text(card.device + "/product_name", files);
  if (card.pci.empty()) card.pci = card.name;
}

void find_parts(Card& card) {
  for (const std::string& name : list(card.device + "/hwmon")) {
    if (!name.starts_with("hwmon")) continue;
    card.hwmon = card.device + "/hwmon/" + name;
    break;
  }
  card.nodes = {card.name};
  for (const std::string& name : list(card.device + "/drm")) {
    if (name.starts_with("renderD")) card.nodes.push_back(name);
  }
}

}  // namespace

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::vector<std::string> list(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const std::string& path, base::Files& files) {
  base::KeptFile file(path, files);
  char buffer[4096];
  std::string_view text;
  return file.read(buffer, text) == 0 ? std::string(text) : std::string();
}

std::vector<Card> find_cards(const std::string& sys_root, std::uint32_t vendor,
                             base::Files& files) {
  std::vector<Card> cards;
  const std::string folder = sys_root + "/class/drm";
  for (const std::string& name : list(folder)) {
    if (!is_card(name)) continue;
    Card card;
    card.name = name;
    card.path = folder + "/" + name;
    card.device = card.path + "/device";
    identify(card, files);
    if (card.vendor_id != vendor) continue;
    find_parts(card);
    cards.push_back(std::move(card));
  }
  std::stable_sort(cards.begin(), cards.end(), [](const Card& a, const Card& b) {
    return a.name.size() < b.name.size();  // card2 before card10
  });
  return cards;
}

std::string pci_id(const Card& card) {
  char text[24];
  std::snprintf(text, sizeof text, "%04x:%04x", card.vendor_id, card.device_id);
  return text;
}

std::string name_of(const Card& card) {
  if (!card.product.empty()) return card.product;
  if (const KnownChip* const chip = chip_of(card)) return std::string(chip->name);
  return (card.vendor_id == kAmd ? "AMD GPU " : "Intel GPU ") + pci_id(card);
}

bool known_unified(const Card& card) {
  const KnownChip* const chip = chip_of(card);
  return chip != nullptr && chip->unified;
}

}  // namespace genscope::probe::drm
