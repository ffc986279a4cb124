#include "probe/nvidia/identity.h"

#include <algorithm>
#include <cstdio>

namespace genscope::probe::nvml {

namespace {

// What the driver says, whether or not it ends its text with a zero.
template <std::size_t kSize>
std::string ask_text(TextCall call, DeviceHandle device, Return& code) {
  char text[kSize + 1] = {};
  code = call != nullptr ? call(device, text, kSize) : Return{kFunctionNotFound};
  return code == kSuccess ? std::string(text) : std::string();
}

const char* architecture_name(std::uint32_t number) noexcept {
  switch (number) {
    case 2:
      return "Kepler";
    case 3:
      return "Maxwell";
    case 4:
      return "Pascal";
    case 5:
      return "Volta";
    case 6:
      return "Turing";
    case 7:
      return "Ampere";
    case 8:
      return "Ada";
    case 9:
      return "Hopper";
    case 10:
      return "Blackwell";
    case 13:
      return "Rubin";
    default:
      return nullptr;
  }
}

void add_versions(const Api& api, Entity& entity) {
  char text[kVersionSize + 1] = {};
  if (api.driver_version != nullptr && api.driver_version(text, kVersionSize) == kSuccess) {
    entity.facts.emplace_back("driver", text);
  }
  int cuda = 0;
  if (api.cuda_version != nullptr && api.cuda_version(&cuda) == kSuccess) {
    entity.facts.emplace_back("cuda",
                              std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10));
  }
}

}  // namespace

Identity identify(const Api& api, DeviceHandle device, Return& code) {
  Identity identity;
  identity.uuid = ask_text<kUuidSize>(api.uuid, device, code);
  PciInfo pci{};
  const Return pci_code =
      api.pci_info != nullptr ? api.pci_info(device, &pci) : Return{kFunctionNotFound};
  if (pci_code == kSuccess) {
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
    identity.pci = text;
    code = kSuccess;
  } else if (identity.uuid.empty() && code == kFunctionNotFound) {
    code = pci_code;
  }
  return identity;
}

Entity describe(const Api& api, DeviceHandle device, std::string id, const Identity& identity) {
  Entity entity;
  entity.kind = EntityKind::gpu;
  entity.id = std::move(id);
  Return code = kSuccess;
  entity.name = ask_text<kNameSize>(api.name, device, code);
  if (entity.name.empty()) entity.name = "NVIDIA GPU";
  entity.facts.emplace_back("vendor", "nvidia");
  if (!identity.pci.empty()) entity.facts.emplace_back("pci", identity.pci);
  if (!identity.uuid.empty() && identity.uuid != entity.id) {
    entity.facts.emplace_back("uuid", identity.uuid);
  }
  if (const std::uint32_t index = ask_number(api.index, device); index != kAllOnes32) {
    entity.facts.emplace_back("index", std::to_string(index));
  }
  add_versions(api, entity);
  const char* const architecture = architecture_name(ask_number(api.architecture, device));
  if (architecture != nullptr) entity.facts.emplace_back("architecture", architecture);
  return entity;
}

std::uint32_t ask_number(NumberCall call, DeviceHandle device) noexcept {
  std::uint32_t number = kAllOnes32;
  return call != nullptr && call(device, &number) == kSuccess ? number : kAllOnes32;
}

Entity describe_instance(const Api& api, DeviceHandle device, const std::string& parent_id,
                         std::uint32_t gpu_instance, std::uint32_t compute_instance) {
  Entity entity;
  entity.kind = EntityKind::gpu_instance;
  const std::string gi = std::to_string(gpu_instance), ci = std::to_string(compute_instance);
  entity.id = parent_id + "/gi" + gi + "/ci" + ci;
  Return code = kSuccess;
  entity.name = ask_text<kNameSize>(api.name, device, code);
  if (entity.name.empty()) entity.name = "MIG instance " + gi + "/" + ci;
  entity.facts = {
      {"vendor", "nvidia"}, {"parent", parent_id}, {"gpu_instance", gi}, {"compute_instance", ci}};
  DeviceAttributes attributes{};
  if (api.attributes != nullptr && api.attributes(device, &attributes) == kSuccess) {
    entity.facts.emplace_back("multiprocessors", std::to_string(attributes.multiprocessors));
    entity.facts.emplace_back("slices", std::to_string(attributes.gpu_slices));
  }
  return entity;
}

Return find_instances(const Api& api, DeviceHandle device, MigInstances& found) noexcept {
  found = {};
  if (api.mig_mode == nullptr || api.mig_max_count == nullptr || api.mig_handle == nullptr) {
    return kNotSupported;
  }
  std::uint32_t current = 0, pending = 0;
  Return code = api.mig_mode(device, &current, &pending);
  if (code != kSuccess || current == 0) return code;
  found.enabled = true;
  std::uint32_t count = 0;
  code = api.mig_max_count(device, &count);
  if (code != kSuccess) return code;
  found.count = std::min<std::size_t>(count, MigInstances::kMax);
  for (std::size_t i = 0; i < found.count; ++i) {
    DeviceHandle handle = nullptr;
    code = api.mig_handle(device, static_cast<std::uint32_t>(i), &handle);
    if (code == kSuccess) {
      found.handles[i] = handle;
    } else if (code != kNotFound && code != kInvalidArgument) {
      return code;  // a hole is fine, anything else is not
    }
  }
  return kSuccess;
}

}  // namespace genscope::probe::nvml
