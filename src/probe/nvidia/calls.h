// The calls that give up to four numbers each, as a table: metric, tier, switch, and how to ask.
// Field values, process lists and GPM have files of their own.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "genscope/probe.h"
#include "probe/nvidia/fields.h"
#include "probe/nvidia/library.h"

namespace genscope::probe::nvml {

// Everything that a device may be asked, in the order within a tick.
enum class Ask : std::uint8_t {
  memory,
  busy,
  power,
  energy,
  fast_fields,  // fast
  core_clock,
  memory_clock,
  media_clock,
  temperature,
  margin,
  fan,  // normal
  throttle,
  normal_fields,
  busy_stamp,
  counters,
  core_clock_max,
  temperature_limit,
  power_limit,
  link_generation,
  link_lanes,
  ecc,  // slow
  pcie_receive,
  pcie_send,
  slow_fields,
  processes,
  instances,
};
inline constexpr std::size_t kAsks = 26;
static_assert(static_cast<std::size_t>(Ask::instances) + 1 == kAsks);

// Which version of a call a device understands; set back when it is enumerated again.
struct Versions {
  bool memory_v2 = true;
  bool temperature_v = true;
  bool event_reasons = true;
};

inline constexpr std::size_t kMaxNumbers = 4;
struct Numbers {
  Return code = kNoData;
  // In the order of PlainCall::metrics; none: this version of the call does not give it.
  std::array<std::optional<double>, kMaxNumbers> values;
  SampleStatus status = SampleStatus::ok;  // not ok: the values cannot be true, or are not meant
  const char* reason = nullptr;
};

struct PlainCall {
  Ask ask;
  Tier tier;
  Subject subject;
  bool blocking;      // sleeps in the driver: only ever made on the helper thread
  bool on_instances;  // a MIG instance has it
  std::array<const Metric*, kMaxNumbers> metrics;  // null: no more
  const char* function;
  Numbers (*make)(const Api& api, DeviceHandle device, Versions& versions);
};

std::span<const PlainCall> plain_calls() noexcept;
// Null if `ask` is not a plain call.
const PlainCall* plain_call(Ask ask) noexcept;
// "nvml MemoryInfo_v2": which version the device understood.
const char* source_of(const PlainCall& call, const Versions& versions) noexcept;
Tier tier_of(Ask ask) noexcept;

}  // namespace genscope::probe::nvml
