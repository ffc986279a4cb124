#include <genscope/optimize/models.h>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/clock.h"
#include "probe/live_board.h"

namespace genscope::optimize {
namespace {

std::optional<std::uint64_t> reading_bytes(const Snapshot& snapshot, std::uint32_t entity,
                                           std::string_view metric, std::string* reason = nullptr) {
  const Snapshot::Series* series = snapshot.find(entity, metric);
  if (series == nullptr) {
    if (reason != nullptr) *reason = fmt::format("no source for {}", metric);
    return {};
  }
  if (series->reading.status == SampleStatus::ok) {
    return static_cast<std::uint64_t>(series->reading.value);
  }
  if (reason != nullptr) {
    *reason = fmt::format(
        "{}: {}", metric,
        series->reading.reason != nullptr ? series->reading.reason : name(series->reading.status));
  }
  return {};
}

std::string entity_fact(const Entity& entity, std::string_view key) {
  for (const auto& [k, value] : entity.facts) {
    if (k == key) return value;
  }
  return {};
}

DeviceInfo gpu_info(const Snapshot& snapshot, std::uint32_t at) {
  const Entity& entity = snapshot.entities[at];
  DeviceInfo info;
  info.id = entity.id;
  info.name = entity.name;
  info.vendor = entity_fact(entity, "vendor");
  info.gpu = true;
  info.total_bytes = reading_bytes(snapshot, at, "memory_total_bytes", &info.reason);
  info.used_bytes = reading_bytes(snapshot, at, "memory_used_bytes",
                                  info.reason.empty() ? &info.reason : nullptr);
  info.free_bytes = reading_bytes(snapshot, at, "memory_free_bytes");
  if (!info.free_bytes && info.total_bytes && info.used_bytes) {
    info.free_bytes = *info.total_bytes - std::min(*info.total_bytes, *info.used_bytes);
  }
  return info;
}

// The machine's memory, or what the control group leaves of it.
DeviceInfo cpu_info(const Snapshot& snapshot) {
  DeviceInfo info;
  info.id = info.name = "cpu";
  info.reason = "no source for the machine's memory";
  for (std::uint32_t at = 0; at < snapshot.entities.size(); ++at) {
    if (snapshot.entities[at].kind != EntityKind::machine) continue;
    const auto total = reading_bytes(snapshot, at, "memory_total_bytes", &info.reason);
    if (!total) continue;
    info.reason.clear();
    info.total_bytes = total;
    info.used_bytes = reading_bytes(snapshot, at, "memory_used_bytes");
    info.free_bytes = reading_bytes(snapshot, at, "memory_available_bytes");
  }
  for (std::uint32_t at = 0; at < snapshot.entities.size(); ++at) {
    if (snapshot.entities[at].kind != EntityKind::cgroup || !info.total_bytes) continue;
    const auto limit = reading_bytes(snapshot, at, "memory_limit_bytes");
    auto used = reading_bytes(snapshot, at, "memory_working_set_bytes");
    if (!used) used = reading_bytes(snapshot, at, "memory_used_bytes");
    if (!limit || *limit >= *info.total_bytes) continue;
    info.total_bytes = limit;
    info.used_bytes = used;
    if (!used) continue;
    const std::uint64_t left = *limit > *used ? *limit - *used : 0;
    info.free_bytes = info.free_bytes ? std::min(*info.free_bytes, left) : left;
  }
  return info;
}

}  // namespace

struct DeviceManager::Impl {
  std::mutex mutex;
  probe::LiveBoard board{SamplerOptions{}};
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<Absent> absent;

  // Reads all there is, now.
  Snapshot read() {
    const std::int64_t now = base::monotonic_ns();
    for (const auto& probe : probes) {
      if (probe->wants_rescan()) (void)probe->open(board);
    }
    board.begin_tick(now);
    for (const auto& probe : probes) {
      for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow}) {
        probe->sample(tier, now, board);
      }
    }
    board.end_tick();
    return board.snapshot();
  }
};

DeviceManager::DeviceManager(const ProbeOptions& options) : impl_(std::make_unique<Impl>()) {
  ProbeOptions wanted = options;
  wanted.gpu_utilization = wanted.gpu_temperature = wanted.gpu_power = false;
  wanted.gpu_processes = wanted.gpu_counters = wanted.children = false;
  std::vector<std::string_view> sources(gpu_probes().begin(), gpu_probes().end());
  sources.insert(sources.end(), {"system", "cgroup"});
  for (const std::string_view source : sources) {
    Result<std::unique_ptr<Probe>> probe = make_probe(source, wanted);
    if (!probe) {
      impl_->absent.push_back({std::string(source), probe.error().message, ""});
      continue;
    }
    const ProbeState state = (*probe)->open(impl_->board);
    if (state.kind == ProbeState::Kind::works) {
      impl_->probes.push_back(std::move(*probe));
    } else {
      impl_->absent.push_back({std::string(source), state.reason, state.remedy});
    }
  }
}
DeviceManager::~DeviceManager() = default;

std::vector<DeviceInfo> DeviceManager::devices() {
  const std::lock_guard lock(impl_->mutex);
  const Snapshot snapshot = impl_->read();
  std::vector<DeviceInfo> list;
  for (std::uint32_t at = 0; at < snapshot.entities.size(); ++at) {
    if (snapshot.entities[at].kind == EntityKind::gpu) list.push_back(gpu_info(snapshot, at));
  }
  list.push_back(cpu_info(snapshot));
  return list;
}

Result<DeviceInfo> DeviceManager::device(std::string_view id) {
  std::vector<DeviceInfo> list = devices();
  for (std::size_t at = 0; at < list.size(); ++at) {
    const bool nth = list[at].gpu && id == fmt::format("gpu{}", at);
    if (list[at].id == id || nth) return std::move(list[at]);
  }
  std::string known;
  for (std::size_t at = 0; at < list.size(); ++at) {
    known +=
        fmt::format("{}{}", at == 0 ? "" : ", ", list[at].gpu ? fmt::format("gpu{}", at) : "cpu");
  }
  return Error{ErrorCode::not_found, fmt::format("there is no device {}; there are {}", id, known)};
}

std::optional<std::uint64_t> DeviceManager::used_bytes(std::string_view id) {
  const Result<DeviceInfo> found = device(id);
  if (!found) return {};
  return found->used_bytes;
}

std::vector<DeviceManager::Absent> DeviceManager::absent() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->absent;
}

}  // namespace genscope::optimize
