// The probes "amdgpu" and "intel": discovery, loss and return of devices, and what their processes
// use. What a device's own files say is device.h.
#include <algorithm>

#include "probe/builtin.h"
#include "probe/drm/clients.h"
#include "probe/drm/processes.h"
#include "probe/drm/vendors.h"

namespace genscope::probe {
namespace drm {
namespace {

constexpr std::int64_t kRescanNs = 30'000'000'000;

struct Vendor {
  std::string_view name;
  std::uint32_t id;
  const char* none;  // why there is nothing to read
  std::unique_ptr<GpuDevice> (*make)(Card, const ProbeOptions&, base::Files&);
  bool (*takes)(const Card&);
  bool busy_from_processes;
};

constexpr Vendor kAmdVendor{
    "amdgpu", kAmd, "no AMD GPU in class/drm", make_amd_device, [](const Card&) { return true; },
    false};
constexpr Vendor kIntelVendor{
    "intel",
    kIntel,
    "no Intel GPU with driver i915 or xe in class/drm",
    make_intel_device,
    [](const Card& card) { return card.driver == "i915" || card.driver == "xe"; },
    true};

class DrmProbe final : public Probe {
 public:
  DrmProbe(const Vendor& vendor, const ProbeOptions& options, base::Files& files)
      : vendor_(vendor),
        options_(options),
        files_(files),
        asks_processes_(options.gpu_processes ||
                        (vendor.busy_from_processes && options.gpu_utilization)),
        processes_(options_, vendor.busy_from_processes && options.gpu_utilization, files) {}

  std::string_view name() const noexcept override { return vendor_.name; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;
  bool wants_rescan() const noexcept override;

 private:
  void take(const Card& card, Board& board);
  void bring_back(std::unique_ptr<GpuDevice>& lost, const Card& card, Board& board);
  void read_processes(Board& board) noexcept;
  void publish(std::uint32_t device, Board& board) noexcept;

  const Vendor& vendor_;
  const ProbeOptions options_;
  base::Files& files_;
  bool asks_processes_;
  Devices devices_;
  Processes processes_;
  Clients clients_;
  std::int64_t now_ns_ = 0;
};

ProbeState DrmProbe::open(Board& board) {
  std::vector<Card> cards = find_cards(options_.sys_root, vendor_.id, files_);
  std::erase_if(cards, [&](const Card& card) { return !vendor_.takes(card); });
  for (const auto& device : devices_) {
    const bool there = std::any_of(cards.begin(), cards.end(), [&](const Card& card) {
      return card.pci == device->card().pci;
    });
    if (there) continue;
    if (device->state() != GpuDevice::State::lost) device->lose(now_ns_, board);
    device->ask_again_from(now_ns_);
  }
  for (const Card& card : cards) take(card, board);
  if (devices_.empty()) {
    return {ProbeState::Kind::absent, vendor_.none, ""};
  }
  if (asks_processes_) processes_.find(devices_, true);
  return {};
}

void DrmProbe::take(const Card& card, Board& board) {
  for (auto& device : devices_) {
    if (device->card().pci != card.pci) continue;
    if (device->state() == GpuDevice::State::lost) bring_back(device, card, board);
    return;
  }
  devices_.push_back(vendor_.make(card, options_, files_));
  devices_.back()->open(board);
}

// A device that fell off the bus may still have its folder: it is back when it answers.
void DrmProbe::bring_back(std::unique_ptr<GpuDevice>& lost, const Card& card, Board& board) {
  std::unique_ptr<GpuDevice> back = vendor_.make(card, options_, files_);
  back->open(board);
  if (back->answers()) {
    lost = std::move(back);
    board.event(lost->entity(), "device_back", card.pci);
  } else {
    lost->ask_again_from(now_ns_);
    board.set_all(lost->entity(), SampleStatus::lost, "the device has gone");
  }
}

void DrmProbe::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  now_ns_ = now_ns;
  for (const auto& device : devices_) device->sample(tier, now_ns, board);
  if (!asks_processes_ || devices_.empty()) return;
  if (tier == Tier::slow) processes_.find(devices_);
  if (tier == Tier::normal) read_processes(board);
}

void DrmProbe::read_processes(Board& board) noexcept {
  clients_.begin(now_ns_);
  // In the order of the tree: a client that a child inherited is its parent's.
  for (std::size_t i = 0; i < processes_.files().size();) {
    const DrmFile& file = processes_.files()[i];
    const GpuDevice& device = *devices_[file.device];
    char buffer[8192];
    Fdinfo info;
    if (device.state() != GpuDevice::State::awake) {
      i++;
    } else if (processes_.read(file, devices_, buffer, info)) {
      clients_.note(file, info, device.unified());
      i++;
    } else {
      processes_.drop(i);
    }
  }
  clients_.end();
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i]->state() == GpuDevice::State::awake) publish(i, board);
  }
}

void DrmProbe::publish(std::uint32_t device, Board& board) noexcept {
  const GpuDevice::ProcessSeries& series = devices_[device]->process_series();
  const auto set = [&](std::uint32_t to, const Reading& reading) {
    if (reading.status == SampleStatus::ok) {
      board.set(to, reading.value);
    } else {
      board.set(to, reading.status, reading.reason);
    }
  };
  const Clients::Use use = clients_.use(device);
  set(series.busy, use.busy_ratio);
  if (!options_.gpu_processes) return;
  const Reading gone{0, SampleStatus::absent, "the watched process is not there", now_ns_};
  const Reading denied{0, SampleStatus::not_permitted, "a process of the tree is somebody else's",
                       now_ns_};
  const Processes::Tree tree = processes_.tree();
  const Reading* const instead = tree == Processes::Tree::gone     ? &gone
                                 : tree == Processes::Tree::denied ? &denied
                                                                   : nullptr;
  set(series.tree_memory, instead != nullptr ? *instead : use.tree_memory_bytes);
  set(series.tree_busy, instead != nullptr ? *instead : use.tree_busy_ratio);
  board.set_processes(devices_[device]->entity(), clients_.rows(device));
}

bool DrmProbe::wants_rescan() const noexcept {
  return std::any_of(devices_.begin(), devices_.end(), [&](const auto& device) {
    return device->state() == GpuDevice::State::lost && now_ns_ - device->lost_ns() >= kRescanNs;
  });
}

}  // namespace
}  // namespace drm

std::unique_ptr<Probe> make_amdgpu_probe(const ProbeOptions& options, base::Files& files) {
  return std::make_unique<drm::DrmProbe>(drm::kAmdVendor, options, files);
}

std::unique_ptr<Probe> make_intel_probe(const ProbeOptions& options, base::Files& files) {
  return std::make_unique<drm::DrmProbe>(drm::kIntelVendor, options, files);
}

bool has_amd_card(const ProbeOptions& options, base::Files& files) {
  return !drm::find_cards(options.sys_root, drm::kAmd, files).empty();
}

bool has_intel_card(const ProbeOptions& options, base::Files& files) {
  return !drm::find_cards(options.sys_root, drm::kIntel, files).empty();
}

}  // namespace genscope::probe
