// Finding out what a device has: every call is tried once, the first way that works is kept, and
// what is not there gets its series all the same, with a status that says so.
#include <algorithm>

#include "probe/nvidia/device.h"
#include "trace/metrics.h"

namespace genscope::probe::nvml {

namespace {

using Kind = Verdict::Kind;
using trace::metric;

constexpr std::size_t kMaxBusySamples = 1024;
constexpr const char* kNotHere = "this GPU or driver does not have it";
constexpr const char* kUnified = "the GPU shares the system's memory: look there";
constexpr const char* kNotOfInstance = "the driver does not tell the busy time of a MIG instance";

constexpr const Metric* kCounterMetrics[] = {
    &metric("sm_active_ratio"), &metric("sm_occupancy_ratio"), &metric("tensor_active_ratio"),
    &metric("memory_bandwidth_ratio")};

}  // namespace

Device::Device(const Shared& shared, EntityKind of_kind, std::string of_id)
    : id(std::move(of_id)), kind(of_kind), shared_(shared) {
  for (std::size_t i = 0; i < kAsks; ++i) {
    calls_[i].device = this;
    calls_[i].ask = static_cast<Ask>(i);
    shared_.helper->add(calls_[i]);
  }
  never_.reserve(64);
}

void Device::reset() noexcept {
  for (Call& each : calls_) {
    each.take();
    each.wanted = each.on_helper = false;
    each.state = {};
    each.series.fill(kNoSeries);
    each.numbers = {};
  }
  for (FieldSet& set : fields_) set.clear();
  versions_ = {};
  never_.clear();
  busy_stamp_us_ = 0;
  busy_watch_ = {};
  busy_stale_ = instances_changed = false;
  power_watts_ = 0;
  energy_joules_ = -1;
}

bool Device::open(Board& board, DeviceHandle of_handle, Entity what, std::int64_t now_ns) {
  reset();
  handle = of_handle;
  condition = Condition::live;
  entity = board.add_entity(what);
  if (kind == EntityKind::gpu) add_field_series(board);
  add_plain_series(board, now_ns);
  add_special_series(board, now_ns);
  if (call(Ask::memory).numbers.code == kNotSupported) {
    what.facts.emplace_back("memory", "unified");
    board.add_entity(what);
  }
  for (const Call& each : calls_) {
    if (device_gone(each.numbers.code)) return false;
  }
  touch_.store(true, std::memory_order_relaxed);
  return true;
}

void Device::add_unasked(Board& board, Entity what, Condition now, SampleStatus status,
                         const char* reason) {
  reset();
  entity = board.add_entity(what);
  for (const PlainCall& plain : plain_calls()) {
    // Rates of PCIe are a way out for devices without counters: which it is, is not known.
    if (plain.blocking || !enabled(*shared_.options, plain.subject)) continue;
    for (const Metric* const each : plain.metrics) {
      if (each != nullptr) board.add_series(entity, *each, plain.tier, plain.function);
    }
  }
  abandon(board, now, status, reason);
}

void Device::never(Board& board, std::uint32_t series, const char* reason) {
  board.set(series, SampleStatus::not_supported, reason);
  never_.emplace_back(series, reason);
}

void Device::add_field_series(Board& board) {
  const std::span<const FieldWay> ways = field_ways();
  constexpr Ask kAskOf[] = {Ask::fast_fields, Ask::normal_fields, Ask::slow_fields};
  for (std::size_t i = 0; i < ways.size();) {
    std::size_t end = i + 1;
    while (end < ways.size() && ways[end].metric == ways[i].metric) end++;
    const FieldWay* chosen = nullptr;
    for (std::size_t way = i; way < end && chosen == nullptr; ++way) {
      if (!enabled(*shared_.options, ways[way].subject)) continue;
      const Return code = try_way(api(), handle, ways[way]);
      // What fails for another reason may work later.
      if (!unsupported(code)) chosen = &ways[way];
      if (device_gone(code)) call(Ask::fast_fields).numbers.code = code;
    }
    if (chosen != nullptr) {
      const auto tier = static_cast<std::size_t>(chosen->tier);
      fields_[tier].add(*chosen,
                        board.add_series(entity, *chosen->metric, chosen->tier, chosen->source));
      call(kAskOf[tier]).wanted = true;
    }
    i = end;
  }
}

// Whether a field already feeds what this call would.
bool Device::replaced_by_field(Ask ask) const noexcept {
  const Metric* by = nullptr;
  switch (ask) {
    case Ask::power:
      by = &metric("power_watts");
      break;
    case Ask::energy:
      by = &metric("energy_joules");
      break;
    case Ask::power_limit:
      by = &metric("power_limit_watts");
      break;
    case Ask::pcie_receive:
      by = &metric("pcie_receive_bytes");
      break;
    case Ask::pcie_send:
      by = &metric("pcie_send_bytes");
      break;
    default:
      return false;
  }
  for (const FieldSet& set : fields_) {
    for (const FieldSet::Entry& entry : set.entries()) {
      if (entry.way->metric == by) return true;
    }
  }
  return false;
}

void Device::add_plain_series(Board& board, std::int64_t now_ns) {
  for (const PlainCall& plain : plain_calls()) {
    if (!enabled(*shared_.options, plain.subject)) continue;
    Call& it = call(plain.ask);
    if (kind == EntityKind::gpu_instance && !plain.on_instances) {
      if (plain.ask != Ask::busy) continue;
      for (std::size_t i = 0; i < 2; ++i) {
        it.series[i] = board.add_series(entity, *plain.metrics[i], plain.tier, plain.function);
        never(board, it.series[i], kNotOfInstance);
      }
      continue;
    }
    if (replaced_by_field(plain.ask)) continue;
    it.wanted = true;
    it.on_helper = plain.blocking;
    const bool tried = !plain.blocking;
    if (tried) it.numbers = plain.make(api(), handle, versions_);
    for (std::size_t i = 0; i < kMaxNumbers && plain.metrics[i] != nullptr; ++i) {
      it.series[i] =
          board.add_series(entity, *plain.metrics[i], plain.tier, source_of(plain, versions_));
    }
    if (!tried) continue;
    publish_plain(it, now_ns, board);
    it.wanted = !it.state.dead();
    if (plain.ask == Ask::memory && it.numbers.code == kNotSupported) {
      never_.clear();
      for (const std::uint32_t series : it.series) never(board, series, kUnified);
    }
  }
  // What only a field can give, and none does.
  if (kind != EntityKind::gpu) return;
  for (const FieldWay& way : field_ways()) {
    if (!enabled(*shared_.options, way.subject) || way.tier == Tier::slow) continue;
    bool fed = false;
    for (const FieldSet::Entry& entry : fields_[static_cast<std::size_t>(way.tier)].entries()) {
      fed = fed || entry.way->metric == way.metric;
    }
    const bool call_gives_it =
        way.metric == &metric("power_watts") || way.metric == &metric("energy_joules");
    if (fed || call_gives_it) continue;
    never(board, board.add_series(entity, *way.metric, way.tier, way.source), kNotHere);
  }
}

void Device::add_special_series(Board& board, std::int64_t now_ns) {
  const ProbeOptions& options = *shared_.options;
  if (options.gpu_utilization && kind == EntityKind::gpu && api().samples != nullptr &&
      call(Ask::busy).wanted) {
    std::uint32_t type = 0, count = 0;
    const Return code = api().samples(handle, kSamplesGpuBusy, 0, &type, &count, nullptr);
    call(Ask::busy_stamp).wanted = code == kSuccess && count > 0;
    busy_samples_.resize(std::min<std::size_t>(count, kMaxBusySamples));
  }
  if (options.gpu_processes) {
    processes_.open(api(), shared_.pid_max, kind == EntityKind::gpu);
    call(Ask::processes).wanted = true;
    if (options.gpu_memory) {
      call(Ask::processes).series[0] =
          board.add_series(entity, metric("tree_memory_bytes"), Tier::slow, "nvml process lists");
    }
  }
  if (options.gpu_counters) {
    Call& it = call(Ask::counters);
    const bool instance = kind == EntityKind::gpu_instance;
    const Return code =
        instance ? gpm_.open(api(), parent->handle, gpu_instance_) : gpm_.open(api(), handle);
    for (std::size_t i = 0; i < Gpm::kMetrics.size(); ++i) {
      it.series[i] = board.add_series(entity, *kCounterMetrics[i], Tier::normal, "nvml GPM");
      if (code != kSuccess) never(board, it.series[i], "GPM needs Hopper or later");
    }
    it.wanted = code == kSuccess;
  }
  if (kind == EntityKind::gpu) {
    const Return code = find_instances(api(), handle, instances);
    call(Ask::instances).wanted = !unsupported(code);
    call(Ask::instances).state.judge(code, now_ns);
  }
}

}  // namespace genscope::probe::nvml
