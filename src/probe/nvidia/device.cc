// Reading a device: each tick, tier by tier. device_open.cc finds out what it has.
#include "probe/nvidia/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "trace/metrics.h"

namespace genscope::probe::nvml {

namespace {

using Kind = Verdict::Kind;
using trace::metric;

constexpr std::int64_t kEnergyStuckNs = 3 * kSecond;
constexpr double kEnergyStuckWatts = 5;

// How old a value of the helper may be: three nominal periods, and no less than a second.
std::int64_t stale_after(Tier tier) noexcept {
  if (tier == Tier::fast) return kSecond;
  return tier == Tier::normal ? 3 * kSecond : 15 * kSecond;
}

const char* function_of(Ask ask) noexcept {
  if (const PlainCall* const plain = plain_call(ask)) return plain->function;
  switch (ask) {
    case Ask::busy_stamp:
      return "nvmlDeviceGetSamples";
    case Ask::counters:
      return "nvmlGpmMetricsGet";
    case Ask::processes:
      return "nvmlDeviceGetComputeRunningProcesses";
    case Ask::instances:
      return "nvmlDeviceGetMigDeviceHandleByIndex";
    default:
      return "nvmlDeviceGetFieldValues";
  }
}

}  // namespace

void Device::abandon(Board& board, Condition now, SampleStatus status,
                     const char* reason) noexcept {
  condition = now;
  touch_.store(false, std::memory_order_relaxed);
  why_ = status;
  reason_ = reason;
  restate(board);
  board.set_processes(entity, {});
}

void Device::wake(Board& board) noexcept {
  condition = Condition::live;
  touch_.store(true, std::memory_order_relaxed);
  for (const auto& [series, reason] : never_) {
    board.set(series, SampleStatus::not_supported, reason);
  }
}

Kind Device::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  for (Call& call : calls_) {
    if (!call.wanted || tier_of(call.ask) != tier) continue;
    const Kind came =
        call.on_helper ? sample_on_helper(call, now_ns, board) : sample_inline(call, now_ns, board);
    if (came == Kind::lost) lost_by = function_of(call.ask);
    if (came == Kind::lost || came == Kind::reinitialize) return came;
  }
  return Kind::value;
}

Kind Device::sample_inline(Call& call, std::int64_t now_ns, Board& board) noexcept {
  if (!prepare(call, now_ns)) return Kind::keep;
  const std::int64_t begin_ns = shared_.clock();
  fetch(call.ask, now_ns);
  const std::int64_t took_ns = shared_.clock() - begin_ns;
  if (took_ns > kSlowCallNs) {
    call.on_helper = true;
    char detail[160];
    std::snprintf(detail, sizeof detail, "%s took %lld ms; from now on it has a thread of its own",
                  function_of(call.ask), static_cast<long long>(took_ns / 1'000'000));
    board.event(entity, "slow_source", detail);
  }
  return publish(call, now_ns, board);
}

Kind Device::sample_on_helper(Call& call, std::int64_t now_ns, Board& board) noexcept {
  Kind came = Kind::keep;
  if (call.progress() == Job::State::done) {
    call.take();
    if (call.made) came = publish(call, now_ns, board);
    if (came == Kind::lost || came == Kind::reinitialize) return came;
  }
  if (call.progress() == Job::State::idle) {
    if (!prepare(call, now_ns)) return came;
    call.asked_ns = now_ns;
    shared_.helper->ask(call);
  } else if (now_ns - call.asked_ns >= stale_after(tier_of(call.ask))) {
    say(call, {Kind::say, SampleStatus::stale, "the driver has not answered yet"}, board);
  }
  return came;
}

FieldSet& Device::fields(Ask ask) noexcept {
  return fields_[static_cast<std::size_t>(tier_of(ask))];
}

bool Device::prepare(Call& call, std::int64_t now_ns) noexcept {
  switch (call.ask) {
    case Ask::fast_fields:
    case Ask::normal_fields:
    case Ask::slow_fields:
      return fields(call.ask).prepare(now_ns);
    default:
      return call.state.due(now_ns);
  }
}

void Device::fetch(Ask ask, std::int64_t now_ns) noexcept {
  Return& code = call(ask).numbers.code;
  switch (ask) {
    case Ask::fast_fields:
    case Ask::normal_fields:
    case Ask::slow_fields:
      fields(ask).fetch(api(), handle);
      break;
    case Ask::processes:
      code = processes_.fetch(handle);
      break;
    case Ask::counters:
      code = gpm_.fetch(now_ns);
      break;
    case Ask::instances:
      code = find_instances(api(), handle, instances_now_);
      break;
    case Ask::busy_stamp:
      code = fetch_busy_stamp();
      break;
    default:
      call(ask).numbers = plain_call(ask)->make(api(), handle, versions_);
      break;
  }
}

Return Device::fetch_busy_stamp() noexcept {
  auto count = static_cast<std::uint32_t>(busy_samples_.size());
  std::uint32_t type = 0;
  const Return code =
      api().samples(handle, kSamplesGpuBusy, busy_stamp_us_, &type, &count, busy_samples_.data());
  if (code != kSuccess) return code;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, busy_samples_.size()); ++i) {
    busy_stamp_us_ = std::max(busy_stamp_us_, busy_samples_[i].stamp_us);
  }
  return code;
}

Kind Device::publish(Call& call, std::int64_t now_ns, Board& board) noexcept {
  switch (call.ask) {
    case Ask::fast_fields:
    case Ask::normal_fields:
    case Ask::slow_fields:
      return publish_fields(call, now_ns, board);
    case Ask::counters:
      return publish_counters(call, now_ns, board);
    case Ask::busy_stamp:
      return publish_busy_stamp(call, now_ns, board);
    case Ask::instances:
      return publish_instances(call, now_ns);
    case Ask::processes: {
      const Verdict verdict = call.state.judge(call.numbers.code, now_ns);
      if (verdict.kind != Kind::value) {
        say(call, verdict, board);
        return verdict.kind;
      }
      const ProbeOptions& options = *shared_.options;
      const char* const proc = options.proc_root.c_str();
      board.set_processes(entity, processes_.rows(proc, *shared_.files));
      if (call.series[0] != kNoSeries) {
        const auto root = static_cast<std::uint32_t>(options.pid > 0 ? options.pid : getpid());
        const Reading memory = processes_.tree_memory(root, options.children, proc, *shared_.files);
        memory.status == SampleStatus::ok ? board.set(call.series[0], memory.value)
                                          : board.set(call.series[0], memory.status, memory.reason);
      }
      return verdict.kind;
    }
    default:
      return publish_plain(call, now_ns, board);
  }
}

Kind Device::publish_plain(Call& call, std::int64_t now_ns, Board& board) noexcept {
  const Verdict verdict = call.state.judge(call.numbers.code, now_ns);
  if (verdict.kind != Kind::value) {
    say(call, verdict, board);
    return verdict.kind;
  }
  const PlainCall& plain = *plain_call(call.ask);
  for (std::size_t i = 0; i < kMaxNumbers && plain.metrics[i] != nullptr; ++i) {
    if (call.numbers.status != SampleStatus::ok) {
      board.set(call.series[i], call.numbers.status, call.numbers.reason);
    } else if (!call.numbers.values[i]) {
      board.set(call.series[i], SampleStatus::not_supported, "this driver does not tell it");
    } else if (call.ask == Ask::busy && busy_stale_) {
      board.set(call.series[i], SampleStatus::stale, "the driver repeats an old sample");
    } else {
      set(board, *plain.metrics[i], call.series[i], *call.numbers.values[i], now_ns);
    }
  }
  return Kind::value;
}

Kind Device::publish_fields(Call& call, std::int64_t now_ns, Board& board) noexcept {
  for (FieldSet::Entry& entry : fields(call.ask).entries()) {
    if (!entry.asked) continue;
    entry.asked = false;
    double value = 0;
    const Verdict verdict = fields(call.ask).result(entry, now_ns, value);
    if (verdict.kind == Kind::lost || verdict.kind == Kind::reinitialize) return verdict.kind;
    if (verdict.kind == Kind::value) {
      set(board, *entry.way->metric, entry.series, value, now_ns);
    } else if (verdict.kind == Kind::say) {
      board.set(entry.series, verdict.status, verdict.reason);
      if (verdict.degraded) board.event(entity, "source_degraded", entry.way->source);
      if (entry.state.dead() && never_.size() < never_.capacity()) {
        never_.emplace_back(entry.series, verdict.reason);
      }
    }
  }
  return Kind::value;
}

Kind Device::publish_counters(Call& call, std::int64_t now_ns, Board& board) noexcept {
  const Verdict verdict = call.state.judge(call.numbers.code, now_ns);
  if (verdict.kind != Kind::value) {
    say(call, verdict, board);
    return verdict.kind;
  }
  for (std::size_t i = 0; i < Gpm::kMetrics.size(); ++i) {
    const Gpm::Answer& answer = gpm_.answers()[i];
    if (answer.code == kSuccess && answer.percent == answer.percent) {
      board.set(call.series[i], answer.percent / 100);
    } else {
      board.set(call.series[i],
                unsupported(answer.code) ? SampleStatus::not_supported : SampleStatus::error,
                "the driver does not give this counter");
    }
  }
  return Kind::value;
}

// The busy share carries no stamp of its own; the driver's record of samples does. No new sample is
// an answer here, not a failure.
Kind Device::publish_busy_stamp(Call& call, std::int64_t now_ns, Board& board) noexcept {
  const Return code = call.numbers.code;
  const bool old = code == kNotFound || code == kNoData;
  const Verdict verdict = call.state.judge(old ? Return{kSuccess} : code, now_ns);
  if (verdict.kind != Kind::value) {
    busy_stale_ = false;
    return verdict.kind == Kind::lost ? Kind::lost : Kind::keep;
  }
  busy_stale_ = busy_watch_.stale(static_cast<std::int64_t>(busy_stamp_us_), now_ns);
  if (busy_stale_) {
    for (const std::uint32_t series : this->call(Ask::busy).series) {
      board.set(series, SampleStatus::stale, "the driver repeats an old sample");
    }
  }
  return Kind::value;
}

Kind Device::publish_instances(Call& call, std::int64_t now_ns) noexcept {
  const Verdict verdict = call.state.judge(call.numbers.code, now_ns);
  if (verdict.kind == Kind::value) instances_changed = !(instances_now_ == instances);
  return verdict.kind;
}

void Device::say(Call& call, const Verdict& verdict, Board& board) noexcept {
  if (verdict.degraded) board.event(entity, "source_degraded", function_of(call.ask));
  if (verdict.kind != Kind::say) return;
  if (call.ask == Ask::fast_fields || call.ask == Ask::normal_fields ||
      call.ask == Ask::slow_fields) {
    for (const FieldSet::Entry& entry : fields(call.ask).entries()) {
      if (entry.asked) board.set(entry.series, verdict.status, verdict.reason);
    }
    return;
  }
  for (const std::uint32_t series : call.series) {
    if (series == kNoSeries) continue;
    board.set(series, verdict.status, verdict.reason);
    if (call.state.dead() && never_.size() < never_.capacity()) {
      never_.emplace_back(series, verdict.reason);
    }
  }
}

// A counter that steps back was reset. One of energy that stands still while power is drawn, as
// some do, is not a device that needs none.
void Device::set(Board& board, const Metric& what, std::uint32_t series, double value,
                 std::int64_t now_ns) noexcept {
  if (&what == &metric("power_watts")) power_watts_ = value;
  if (&what == &metric("energy_joules")) {
    if (value < energy_joules_) board.event(entity, "counter_reset", what.id);
    if (value != energy_joules_) {
      energy_joules_ = value;
      energy_moved_ns_ = now_ns;
    } else if (power_watts_ > kEnergyStuckWatts && now_ns - energy_moved_ns_ >= kEnergyStuckNs) {
      board.set(series, SampleStatus::stale,
                "the energy counter stands still while power is drawn");
      return;
    }
  }
  board.set(series, value);
}

}  // namespace genscope::probe::nvml
