// Each enumeration goes through what the driver counts, matches it with the devices that are known,
// and at the end looks at those that were not seen: they were lost, removed, or renamed. Nothing is
// forgotten, so a GPU that comes back continues its series.
//
// GPUs that sleep are found in sysfs, which wakes nobody, and the driver is then asked for the
// others by address: asking it for a count of handles would wake them all.
#include "probe/nvidia/gpus.h"

#include <algorithm>

namespace genscope::probe::nvml {

namespace {

using Condition = Device::Condition;

constexpr const char* kRemoved = "the MIG instance was removed";
constexpr const char* kRenamed = "the driver gives it now: it is shown under its UUID";
constexpr const char* kLost = "the driver does not find the GPU any more";

struct Refusal {
  SampleStatus status;
  const char* reason;
};

Refusal refusal_of(Return code) noexcept {
  switch (code) {
    case kNoPermission:
      return {SampleStatus::not_permitted,
              "the driver does not give this GPU to this user: check /dev/nvidia*"};
    case kGpuIsLost:
    case kResetRequired:
    case kGpuNotFound:
      return {SampleStatus::lost, "the GPU has fallen off the bus or needs a reset"};
    case kInsufficientPower:
      return {SampleStatus::error, "the GPU's external power cable is not attached"};
    case kIrqIssue:
      return {SampleStatus::error, "the kernel sees an interrupt problem with the GPU"};
    default:
      return {SampleStatus::error, "the driver gives no access to this GPU"};
  }
}

bool contains(const std::vector<const Device*>& seen, const Device* device) noexcept {
  return std::find(seen.begin(), seen.end(), device) != seen.end();
}

}  // namespace

std::size_t Gpus::readable() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(devices_.begin(), devices_.end(), [](const auto& device) {
        return device->condition == Condition::live || device->condition == Condition::asleep;
      }));
}

Device& Gpus::add(EntityKind kind, std::string id) {
  devices_.push_back(std::make_unique<Device>(shared_, kind, std::move(id)));
  return *devices_.back();
}

Device* Gpus::known(const Identity& identity) noexcept {
  for (const auto& device : devices_) {
    if (device->kind != EntityKind::gpu) continue;
    const bool same_uuid = !identity.uuid.empty() && device->identity.uuid == identity.uuid;
    // An address may get another GPU; it tells only of one whose UUID we could not ask.
    const bool same_place = device->identity.uuid.empty() && !identity.pci.empty() &&
                            device->identity.pci == identity.pci;
    if (same_uuid || same_place) return device.get();
  }
  return nullptr;
}

bool Gpus::add_sleepers(Board& board) {
  pci_gpus_ = find_pci_gpus(shared_.options->sys_root, *shared_.files);
  bool awake = pci_gpus_.empty();
  for (const PciGpu& gpu : pci_gpus_) {
    awake = awake || !gpu.asleep;
    bool is_known = false;
    for (const auto& device : devices_) {
      const Device& root = device->parent != nullptr ? *device->parent : *device;
      if (root.identity.pci != gpu.pci) continue;
      is_known = true;
      if (gpu.asleep && device->condition == Condition::live) {
        device->abandon(board, Condition::asleep, SampleStatus::suspended, kAsleep);
      }
    }
    if (!gpu.asleep || is_known) continue;
    Device& device = add(EntityKind::gpu, gpu.pci);
    device.identity.pci = gpu.pci;
    device.sleep = SleepWatch(shared_.options->sys_root, gpu.pci, *shared_.files);
    device.add_unasked(
        board, {EntityKind::gpu, gpu.pci, "NVIDIA GPU", {{"vendor", "nvidia"}, {"pci", gpu.pci}}},
        Condition::asleep, SampleStatus::suspended, kAsleep);
  }
  return !awake;
}

// A handle wakes its GPU. So where one sleeps, the others are asked for by address; and if the
// driver cannot do that, none is.
std::vector<Gpus::Found> Gpus::ask_driver(std::vector<Return>& refused) const {
  const Api& api = shared_.library->api();
  const bool by_place =
      std::any_of(pci_gpus_.begin(), pci_gpus_.end(), [](const PciGpu& gpu) { return gpu.asleep; });
  std::vector<Found> all;
  const auto take = [&](Return code, DeviceHandle handle) {
    Found found{handle, {}};
    if (code == kSuccess) found.identity = identify(api, handle, code);
    if (found.identity.uuid.empty() && found.identity.pci.empty()) {
      refused.push_back(code);
    } else {
      all.push_back(std::move(found));
    }
  };
  if (by_place) {
    for (const PciGpu& gpu : pci_gpus_) {
      DeviceHandle handle = nullptr;
      if (gpu.asleep || api.handle_by_pci == nullptr) continue;
      const Return code = api.handle_by_pci(gpu.pci.c_str(), &handle);
      take(code, handle);
    }
    return all;
  }
  std::uint32_t count = 0;
  if (api.device_count(&count) != kSuccess) return all;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(count, 1024); ++i) {
    DeviceHandle handle = nullptr;
    const Return code = api.handle_by_index(i, &handle);
    take(code, handle);
  }
  return all;
}

void Gpus::enumerate(Board& board, std::int64_t now_ns) {
  seen_.clear();
  refusal_ = nullptr;
  std::vector<Return> refused;
  const std::vector<Found> found = ask_driver(refused);
  counted_ = found.size() + refused.size();
  for (const Found& each : found) take(board, each, now_ns);
  add_refused(board, refused);
  for (const auto& device : devices_) {
    if (contains(seen_, device.get())) continue;
    if (device->condition == Condition::refused) {
      device->abandon(board, Condition::removed, SampleStatus::absent, kRenamed);
    }
    if (device->condition != Condition::live) continue;
    if (device->parent != nullptr && device->parent->condition == Condition::live) {
      device->abandon(board, Condition::removed, SampleStatus::lost, kRemoved);
      board.event(device->entity, "instance_removed", device->id);
    } else {
      device->abandon(board, Condition::lost, SampleStatus::lost, kLost);
      board.event(device->entity, "device_lost", kLost);
    }
  }
}

void Gpus::take(Board& board, const Found& found, std::int64_t now_ns) {
  Device* device = known(found.identity);
  const bool is_new = device == nullptr;
  if (is_new) {
    device = &add(EntityKind::gpu,
                  found.identity.uuid.empty() ? found.identity.pci : found.identity.uuid);
  }
  seen_.push_back(device);
  const bool was_lost = !is_new && device->condition == Condition::lost;
  if (device->condition != Condition::live || device->handle != found.handle) {
    device->identity = found.identity;
    if (!found.identity.pci.empty()) {
      device->sleep = SleepWatch(shared_.options->sys_root, found.identity.pci, *shared_.files);
    }
    if (!device->open(board, found.handle,
                      describe(shared_.library->api(), found.handle, device->id, found.identity),
                      now_ns)) {
      device->abandon(board, Condition::lost, SampleStatus::lost, kLost);
      return;
    }
    if (was_lost) board.event(device->entity, "device_back", "counters start anew");
  }
  take_instances(board, *device, now_ns);
}

void Gpus::take_instances(Board& board, Device& gpu, std::int64_t now_ns) {
  MigInstances now;
  if (find_instances(shared_.library->api(), gpu.handle, now) != kSuccess) {
    // Not readable is not gone: what was there stays.
    for (const auto& device : devices_) {
      if (device->parent == &gpu) seen_.push_back(device.get());
    }
    return;
  }
  gpu.instances = now;
  gpu.instances_changed = false;
  for (std::size_t i = 0; i < now.count; ++i) {
    if (now.handles[i] != nullptr) take_instance(board, gpu, now.handles[i], now_ns);
  }
}

void Gpus::take_instance(Board& board, Device& gpu, DeviceHandle handle, std::int64_t now_ns) {
  const Api& api = shared_.library->api();
  const std::uint32_t gpu_instance = ask_number(api.gpu_instance, handle);
  const std::uint32_t compute_instance = ask_number(api.compute_instance, handle);
  if (gpu_instance == kAllOnes32 || compute_instance == kAllOnes32) return;
  Entity entity = describe_instance(api, handle, gpu.id, gpu_instance, compute_instance);
  Device* device = nullptr;
  for (const auto& each : devices_) {
    if (each->id == entity.id) device = each.get();
  }
  if (device == nullptr) device = &add(EntityKind::gpu_instance, entity.id);
  seen_.push_back(device);
  if (device->condition == Condition::live && device->handle == handle) return;
  device->set_parent(gpu, gpu_instance);
  if (!device->open(board, handle, std::move(entity), now_ns)) {
    device->abandon(board, Condition::removed, SampleStatus::lost, kRemoved);
  }
}

// Indices that the driver counts and gives no handle for. Those of devices that we know to be lost
// or refused are theirs; the rest are new to us, and named by the address that nobody else has.
void Gpus::add_refused(Board& board, const std::vector<Return>& codes) {
  std::vector<Device*> waiting;
  for (const auto& device : devices_) {
    if (device->kind != EntityKind::gpu || contains(seen_, device.get())) continue;
    if (device->condition != Condition::asleep) waiting.push_back(device.get());
  }
  std::size_t taken = 0;
  for (const Return code : codes) {
    const Refusal refusal = refusal_of(code);
    if (refusal_ == nullptr) refusal_ = refusal.reason;
    if (taken < waiting.size()) {
      Device& device = *waiting[taken++];
      seen_.push_back(&device);
      if (device.condition == Condition::live) {
        device.abandon(board, Condition::lost, refusal.status, refusal.reason);
        board.event(device.entity, "device_lost", refusal.reason);
      }
      continue;
    }
    std::string pci;
    for (const PciGpu& gpu : pci_gpus_) {
      const bool claimed = std::any_of(devices_.begin(), devices_.end(), [&](const auto& device) {
        return device->identity.pci == gpu.pci;
      });
      if (!claimed && pci.empty()) pci = gpu.pci;
    }
    Device& device =
        add(EntityKind::gpu, pci.empty() ? "nvidia-" + std::to_string(devices_.size()) : pci);
    device.identity.pci = pci;
    seen_.push_back(&device);
    device.add_unasked(board, {EntityKind::gpu, device.id, "NVIDIA GPU", {{"vendor", "nvidia"}}},
                       Condition::refused, refusal.status, refusal.reason);
  }
}

}  // namespace genscope::probe::nvml
