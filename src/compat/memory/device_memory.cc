#include "compat/memory/device_memory.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace genscope::compat::training {

DeviceMemory::DeviceMemory(int device) {
  const ProbeOptions options = monitor::memory_only(probe_options_from_environment());
  int found = 0;
  for (const std::string_view name : gpu_probes()) {
    Result<std::unique_ptr<Probe>> probe = make_probe(name, options);
    if (!probe) continue;
    monitor::GpuBoard board;
    (*probe)->open(board);
    const int here = static_cast<int>(board.gpus.size());
    const int wanted = device - found;
    found += here;
    if (wanted < 0 || wanted >= here) continue;
    if (!board.gpus[static_cast<std::size_t>(wanted)].tells_used) continue;
    board_ = std::move(board);
    place_ = static_cast<std::size_t>(wanted);
    probe_ = std::move(probe).value();
    return;
  }
  if (device >= 0 && device < found) {
    reason_ = fmt::format("GPU {} does not tell its memory", device);
  } else if (found > 0) {
    reason_ = fmt::format("there is no GPU {}: {} found, counted from 0", device, found);
  } else {
    reason_ = "no GPU was found; `genscope doctor` says what was looked for";
  }
}

DeviceMemory::~DeviceMemory() = default;

std::optional<std::uint64_t> DeviceMemory::used_bytes() noexcept {
  if (probe_ == nullptr) return std::nullopt;
  const std::lock_guard lock(mutex_);
  probe_->sample(Tier::fast, base::monotonic_ns(), board_);
  const std::optional<double> used = board_.gpus[place_].used;
  return used && *used >= 0 ? std::optional(static_cast<std::uint64_t>(*used)) : std::nullopt;
}

}  // namespace genscope::compat::training
