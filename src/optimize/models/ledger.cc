// The ledger: what is reserved on each device, and what a model is worth there.
//
// A reservation is made before a load begins (declared bytes x 1.1, or the most that it ever took)
// and is replaced by what the load took. It ends when the unload has ended, not when it begins.
//
// Worth = uses x reload time / bytes: the seconds of loading that a byte of it saves. Uses are
// counted with a half-life, so that yesterday's favourite goes. Where all models load at one speed,
// reload time / bytes is the same for all, and the least used one goes; a small model that takes
// long to load (compiled, quantized on the way) stays.
#include "optimize/models/book.h"

namespace genscope::optimize {

std::uint64_t ModelBook::Impl::budget(std::uint32_t device) const {
  const BookDevice& d = devices[device];
  const std::uint64_t taken = d.foreign + d.spec.activation_bytes;
  return d.spec.bytes > taken ? d.spec.bytes - taken : 0;
}

std::uint64_t ModelBook::Impl::room(std::uint32_t device) const {
  const std::uint64_t all = budget(device);
  return all > devices[device].reserved ? all - devices[device].reserved : 0;
}

void ModelBook::Impl::reserve(std::uint32_t model, std::uint32_t device, std::uint64_t bytes) {
  BookEntry& entry = models[model].on[device];
  devices[device].reserved = devices[device].reserved - entry.reserved + bytes;
  entry.reserved = bytes;
}

void ModelBook::Impl::reserve_host(BookEntry& entry, std::uint64_t bytes) {
  host_reserved = host_reserved - entry.host + bytes;
  entry.host = bytes;
}

// For a load, beside what it holds there already (asleep). An unknown model needs one byte and
// takes all the room there is (start_load).
std::uint64_t ModelBook::Impl::needed(std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  std::uint64_t bytes = m.learned;
  if (bytes == 0) {
    bytes = static_cast<std::uint64_t>(static_cast<double>(m.spec.bytes) * options.declared_margin);
  }
  bytes = std::max<std::uint64_t>(bytes, 1);
  const std::uint64_t held = m.on[device].reserved;
  return bytes > held ? bytes - held : 0;
}

// 0: no level has room in host memory.
std::uint32_t ModelBook::Impl::sleep_level(const BookModel& model, const BookEntry& entry) const {
  if (entry.state != ModelState::ready || entry.leaving) return 0;
  for (std::uint32_t i = 0; i < model.spec.sleep.size(); ++i) {
    const SleepLevel& level = model.spec.sleep[i];
    if (host_reserved + level.host_bytes <= options.host_bytes &&
        level.device_bytes < entry.reserved) {
      return i + 1;
    }
  }
  return 0;
}

std::uint64_t ModelBook::Impl::freed_by_eviction(const BookModel& model,
                                                 const BookEntry& entry) const {
  const std::uint32_t level = sleep_level(model, entry);
  return level == 0 ? entry.reserved : entry.reserved - model.spec.sleep[level - 1].device_bytes;
}

std::int64_t ModelBook::Impl::load_time(std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  if (m.load_ns > 0) return m.load_ns;
  if (m.spec.load_ns > 0) return m.spec.load_ns;
  const auto bytes = static_cast<double>(std::max(m.learned, m.spec.bytes));
  return static_cast<std::int64_t>(bytes / devices[device].spec.load_bytes_per_second * 1e9);
}

// From the state it is in, until it is ready.
std::int64_t ModelBook::Impl::arrival_cost(std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  switch (m.on[device].state) {
    case ModelState::ready:
      return 0;
    case ModelState::sleeping:
    case ModelState::waking:
      return m.wake_ns > 0 ? m.wake_ns : load_time(model, device) / 4;
    default:
      return load_time(model, device);
  }
}

double ModelBook::Impl::use_now(const BookModel& model, std::int64_t now) const {
  const auto age = static_cast<double>(now - model.use_at);
  return model.use * std::exp2(-age / static_cast<double>(options.use_half_life_ns));
}

double ModelBook::Impl::worth(std::int64_t now, std::uint32_t model, std::uint32_t device) const {
  const BookModel& m = models[model];
  const BookEntry& entry = m.on[device];
  if (options.evict_by == EvictBy::least_recent) return static_cast<double>(entry.last_used);
  const auto bytes = static_cast<double>(std::max<std::uint64_t>(entry.reserved, 1));
  return use_now(m, now) * static_cast<double>(load_time(model, device)) / bytes;
}

// Whether it would fit if all went that may go.
bool ModelBook::Impl::fits_ever(std::uint32_t model, std::uint32_t device) const {
  std::uint64_t fixed = 0;
  std::uint32_t in_group = 0;
  for (std::uint32_t other = 0; other < models.size(); ++other) {
    if (other == model || !models[other].spec.pinned) continue;
    if (models[other].on[device].state == ModelState::unloading) continue;  // pinned too late
    fixed += models[other].on[device].reserved;
    const bool there = models[other].on[device].reserved != 0;
    const std::string& group = models[model].spec.group;
    if (there && !group.empty() && models[other].spec.group == group) in_group++;
  }
  return in_group < options.group_limit &&
         needed(model, device) + models[model].on[device].reserved + fixed <= budget(device);
}

Ledger ModelBook::Impl::ledger() const {
  Ledger ledger;
  ledger.host_bytes = options.host_bytes;
  ledger.host_reserved_bytes = host_reserved;
  for (std::uint32_t d = 0; d < devices.size(); ++d) {
    const BookDevice& device = devices[d];
    ledger.devices.push_back({device.spec.name, device.spec.bytes, device.spec.activation_bytes,
                              device.foreign, budget(d), device.reserved, device.leases});
  }
  for (std::uint32_t i = 0; i < models.size(); ++i) {
    const BookModel& m = models[i];
    bool shown = false;
    for (std::uint32_t d = 0; d < devices.size(); ++d) {
      const BookEntry& e = m.on[d];
      const bool last = d + 1 == devices.size();
      const bool only_waiting = last && !shown && !m.waiting.empty();
      if (e.state == ModelState::absent && !only_waiting) continue;
      shown = true;
      ledger.models.push_back({m.spec.name, devices[d].spec.name, e.state, e.level, e.reserved,
                               e.host, m.spec.bytes, m.learned, e.leases, m.spec.pinned,
                               m.waiting.size(), load_time(i, d)});
    }
  }
  return ledger;
}

}  // namespace genscope::optimize
