// A client is found by its id, else by process and descriptor, in an array of fixed size: no
// allocation in a sample. Busy time is what its counter grew over what the time, or the counter of
// cycles, grew. A counter that goes back is noise once or twice, and a new start the third time in
// a row.
#include "probe/drm/clients.h"

#include <algorithm>
#include <cstring>

namespace genscope::probe::drm {
namespace {

constexpr int kBackwardsTwiceIsNoise = 3;

Reading no_value(SampleStatus status, const char* reason, std::int64_t now_ns) noexcept {
  return {0, status, reason, now_ns};
}

// Engines of a class run at once, and the clocks of two reads differ a little: 1 is full.
double settle(double ratio) noexcept { return ratio > 1 && ratio < 1.5 ? 1 : ratio; }

}  // namespace

void Clients::begin(std::int64_t now_ns) noexcept {
  now_ns_ = now_ns;
  for (std::size_t i = 0; i < count_; ++i) clients_[i].seen = false;
}

Clients::Client* Clients::find_or_add(const DrmFile& file, const Fdinfo& info) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    Client& client = clients_[i];
    if (client.file.device != file.device || client.has_id != info.client_id.has_value()) continue;
    const bool same = client.has_id ? client.id == *info.client_id
                                    : client.file.pid == file.pid && client.file.fd == file.fd;
    if (same) return &client;
  }
  if (count_ == kMaxClients) return nullptr;
  Client& client = clients_[count_++];
  client = {};
  client.file = file;
  client.has_id = info.client_id.has_value();
  client.id = info.client_id.value_or(0);
  return &client;
}

void Clients::note(const DrmFile& file, const Fdinfo& info, bool unified) noexcept {
  Client* const client = find_or_add(file, info);
  if (client == nullptr) return;
  // Shared by two processes: it belongs to the watched one, else to the first.
  if (!client->seen || (file.in_tree && !client->file.in_tree)) client->file = file;
  if (client->seen) return;
  client->seen = true;
  client->has_memory = info.local_bytes || info.shared_bytes;
  client->memory_bytes = info.local_bytes.value_or(0);
  if (unified) {
    const std::uint64_t shared = info.shared_bytes.value_or(0);
    const std::uint64_t room = ~std::uint64_t{0} - client->memory_bytes;
    client->memory_bytes += std::min(shared, room);
  }
  for (std::size_t i = 0; i < kEngineClasses; ++i) update(client->engines[i], info.engines[i]);
}

void Clients::update(Engine& engine, const Fdinfo::Engine& now) noexcept {
  const bool by_cycles = now.cycles && now.total_cycles;
  if (!now.busy_ns && !by_cycles) {
    engine = {};
    return;
  }
  const std::uint64_t busy = by_cycles ? *now.cycles : *now.busy_ns;
  const std::uint64_t total = by_cycles ? *now.total_cycles : static_cast<std::uint64_t>(now_ns_);
  engine.backwards = engine.known && busy < engine.busy ? engine.backwards + 1 : 0;
  if (!engine.known || engine.backwards == kBackwardsTwiceIsNoise) {
    engine = {true, false, busy, total, 0, 0};
    return;
  }
  if (total <= engine.total) return;  // nothing new
  const std::uint64_t used = busy > engine.busy ? busy - engine.busy : 0;
  const double most = static_cast<double>(total - engine.total) * static_cast<double>(now.capacity);
  engine.ratio = static_cast<double>(used) / most;
  engine.has_ratio = true;
  engine.busy = std::max(engine.busy, busy);
  engine.total = total;
}

void Clients::end() noexcept {
  const auto last =
      std::remove_if(clients_.begin(), clients_.begin() + static_cast<std::ptrdiff_t>(count_),
                     [](const Client& client) { return !client.seen; });
  count_ = static_cast<std::size_t>(last - clients_.begin());
}

Reading Clients::tree_memory(std::uint32_t device) const noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const Client& client = clients_[i];
    if (client.file.device != device || !client.file.in_tree) continue;
    if (!client.has_memory) {
      return no_value(SampleStatus::not_supported, "the driver's fdinfo has no memory", now_ns_);
    }
    sum += static_cast<double>(client.memory_bytes);
  }
  return {sum, SampleStatus::ok, nullptr, now_ns_};
}

// The busier of the two engine classes: they run side by side, so that their sum may exceed 1.
Reading Clients::busy(std::uint32_t device, bool tree_only) const noexcept {
  double sums[kEngineClasses] = {};
  bool any = false, known = false, ready = false;
  for (std::size_t i = 0; i < count_; ++i) {
    const Client& client = clients_[i];
    if (client.file.device != device || (tree_only && !client.file.in_tree)) continue;
    any = true;
    for (std::size_t c = 0; c < kEngineClasses; ++c) {
      known = known || client.engines[c].known;
      ready = ready || client.engines[c].has_ratio;
      if (client.engines[c].has_ratio) sums[c] += client.engines[c].ratio;
    }
  }
  if (any && !known) {
    return no_value(SampleStatus::not_supported, "the driver's fdinfo has no engine times",
                    now_ns_);
  }
  if (any && !ready) {
    return no_value(SampleStatus::pending, "a difference needs two readings", now_ns_);
  }
  return {settle(std::max(sums[kRender], sums[kCompute])), SampleStatus::ok, nullptr, now_ns_};
}

Clients::Use Clients::use(std::uint32_t device) const noexcept {
  return {tree_memory(device), busy(device, true), busy(device, false)};
}

std::span<const ProcessRow> Clients::rows(std::uint32_t device) noexcept {
  std::size_t rows = 0;
  double sums[kMaxClients][kEngineClasses];
  for (std::size_t i = 0; i < count_; ++i) {
    const Client& client = clients_[i];
    if (client.file.device != device) continue;
    std::size_t at = 0;
    while (at < rows && rows_[at].pid != client.file.pid) at++;
    ProcessRow& row = rows_[at];
    if (at == rows) {
      rows++;
      row = {};
      row.pid = client.file.pid;
      row.parent = client.file.parent;
      row.start = client.file.start;
      std::memcpy(row.name, client.file.name, sizeof row.name);
      row.cpu_ns = row.rss_bytes = no_value(SampleStatus::absent, "not of this probe", now_ns_);
      row.gpu_memory_bytes = no_value(SampleStatus::not_supported, nullptr, now_ns_);
      row.gpu_busy_ratio = no_value(SampleStatus::pending, nullptr, now_ns_);
      sums[at][kRender] = sums[at][kCompute] = 0;
    }
    if (client.has_memory) {
      row.gpu_memory_bytes.status = SampleStatus::ok;
      row.gpu_memory_bytes.value += static_cast<double>(client.memory_bytes);
    }
    for (std::size_t c = 0; c < kEngineClasses; ++c) {
      if (!client.engines[c].has_ratio) continue;
      sums[at][c] += client.engines[c].ratio;
      const double ratio = settle(std::max(sums[at][kRender], sums[at][kCompute]));
      row.gpu_busy_ratio = ratio <= 1 ? Reading{ratio, SampleStatus::ok, nullptr, now_ns_}
                                      : Reading{ratio, SampleStatus::implausible, nullptr, now_ns_};
    }
  }
  std::sort(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(rows),
            [](const ProcessRow& a, const ProcessRow& b) {
              const double more = a.gpu_memory_bytes.value - b.gpu_memory_bytes.value;
              return more != 0 ? more > 0 : a.pid < b.pid;
            });
  return {rows_.data(), rows};
}

}  // namespace genscope::probe::drm
