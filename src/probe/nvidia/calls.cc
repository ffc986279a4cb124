#include "probe/nvidia/calls.h"

#include "probe/nvidia/call_state.h"
#include "trace/metrics.h"

namespace genscope::probe::nvml {

namespace {

using trace::metric;

constexpr const char* kMarginReason = "this GPU gives a margin, not an absolute limit";

Numbers missing() noexcept { return {.code = kFunctionNotFound, .values = {}}; }

Numbers one(Return code, double value) noexcept {
  Numbers numbers{.code = code, .values = {}};
  if (code == kSuccess) numbers.values[0] = value;
  return numbers;
}

// A call with one unsigned number.
Numbers number(NumberCall call, DeviceHandle device, double scale) noexcept {
  if (call == nullptr) return missing();
  std::uint32_t value = 0;
  const Return code = call(device, &value);
  return one(code, value * scale);
}

Numbers memory_numbers(std::uint64_t total, std::uint64_t used, std::uint64_t free,
                       std::optional<std::uint64_t> reserved) noexcept {
  Numbers numbers{.code = kSuccess, .values = {}};
  if (total == 0) {
    numbers.code = kNotSupported;  // memory shared with the CPU: there is no pool of its own
    return numbers;
  }
  numbers.values = {static_cast<double>(total), static_cast<double>(used),
                    static_cast<double>(free), std::nullopt};
  if (reserved) numbers.values[3] = static_cast<double>(*reserved);
  if (used > total || free > total || reserved.value_or(0) > total) {
    numbers.status = SampleStatus::implausible;
    numbers.reason = "the driver reports more memory in use than there is";
  }
  return numbers;
}

Numbers memory(const Api& api, DeviceHandle device, Versions& versions) {
  if (versions.memory_v2 && api.memory_v2 != nullptr) {
    MemoryV2 memory{};
    memory.version = version_word<MemoryV2>(2);
    const Return code = api.memory_v2(device, &memory);
    if (code == kSuccess) {
      return memory_numbers(memory.total, memory.used, memory.free, memory.reserved);
    }
    if (!older_version_may_do(code)) return {.code = code, .values = {}};
  }
  versions.memory_v2 = false;
  if (api.memory_v1 == nullptr) return missing();
  MemoryV1 memory{};
  const Return code = api.memory_v1(device, &memory);
  if (code != kSuccess) return {.code = code, .values = {}};
  return memory_numbers(memory.total, memory.used, memory.free, std::nullopt);
}

Numbers busy(const Api& api, DeviceHandle device, Versions&) {
  if (api.utilization == nullptr) return missing();
  Utilization use{};
  Numbers numbers{.code = api.utilization(device, &use), .values = {}};
  if (numbers.code != kSuccess) return numbers;
  numbers.values[0] = use.gpu / 100.0;
  numbers.values[1] = use.memory / 100.0;
  if (use.gpu > 100 || use.memory > 100) {
    numbers.status = SampleStatus::implausible;
    numbers.reason = "the driver reports more than 100 %";
  }
  return numbers;
}

Numbers power(const Api& api, DeviceHandle device, Versions&) {
  return number(api.power_usage, device, 1e-3);
}

Numbers energy(const Api& api, DeviceHandle device, Versions&) {
  if (api.total_energy == nullptr) return missing();
  std::uint64_t millijoules = 0;
  const Return code = api.total_energy(device, &millijoules);
  return one(code, static_cast<double>(millijoules) * 1e-3);
}

template <std::uint32_t kType>
Numbers clock(const Api& api, DeviceHandle device, Versions&) {
  if (api.clock == nullptr) return missing();
  std::uint32_t mhz = 0;
  const Return code = api.clock(device, kType, &mhz);
  return one(code, mhz);
}

Numbers core_clock_max(const Api& api, DeviceHandle device, Versions&) {
  if (api.max_clock == nullptr) return missing();
  std::uint32_t mhz = 0;
  const Return code = api.max_clock(device, kClockSm, &mhz);
  return one(code, mhz);
}

Numbers temperature(const Api& api, DeviceHandle device, Versions& versions) {
  if (versions.temperature_v && api.temperature_v != nullptr) {
    TemperatureV1 reading{version_word<TemperatureV1>(1), 0, 0};
    const Return code = api.temperature_v(device, &reading);
    if (!older_version_may_do(code)) return one(code, reading.celsius);
  }
  versions.temperature_v = false;
  if (api.temperature == nullptr) return missing();
  std::uint32_t celsius = 0;
  const Return code = api.temperature(device, 0, &celsius);
  return one(code, static_cast<std::int32_t>(celsius));
}

Numbers margin(const Api& api, DeviceHandle device, Versions&) {
  if (api.margin_temperature == nullptr) return missing();
  MarginTemperatureV1 reading{version_word<MarginTemperatureV1>(1), 0};
  const Return code = api.margin_temperature(device, &reading);
  return one(code, reading.celsius);
}

Numbers temperature_limit(const Api& api, DeviceHandle device, Versions&) {
  if (api.temperature_threshold == nullptr) return missing();
  std::uint32_t raw = 0;
  Numbers numbers = one(api.temperature_threshold(device, kThresholdSlowdown, &raw), 0);
  if (numbers.code != kSuccess) return numbers;
  const auto celsius = static_cast<std::int32_t>(raw);  // newer parts: below 0, a margin
  numbers.values[0] = celsius;
  if (celsius < 0) {
    numbers.status = SampleStatus::not_supported;
    numbers.reason = kMarginReason;
  }
  return numbers;
}

Numbers fan(const Api& api, DeviceHandle device, Versions&) {
  return number(api.fan_speed, device, 1e-2);
}

Numbers throttle(const Api& api, DeviceHandle device, Versions& versions) {
  std::uint64_t bits = 0;
  if (versions.event_reasons && api.event_reasons != nullptr) {
    const Return code = api.event_reasons(device, &bits);
    if (!older_version_may_do(code)) return one(code, static_cast<double>(bits));
  }
  versions.event_reasons = false;
  if (api.throttle_reasons == nullptr) return missing();
  const Return code = api.throttle_reasons(device, &bits);
  return one(code, static_cast<double>(bits));
}

Numbers power_limit(const Api& api, DeviceHandle device, Versions&) {
  return number(api.enforced_power_limit, device, 1e-3);
}
Numbers link_generation(const Api& api, DeviceHandle device, Versions&) {
  return number(api.link_generation, device, 1);
}
Numbers link_lanes(const Api& api, DeviceHandle device, Versions&) {
  return number(api.link_width, device, 1);
}

Numbers ecc(const Api& api, DeviceHandle device, Versions&) {
  if (api.ecc_errors == nullptr) return missing();
  std::uint64_t count = 0;
  const Return code = api.ecc_errors(device, kEccUncorrected, kEccSinceDriverLoad, &count);
  return one(code, static_cast<double>(count));
}

template <std::uint32_t kDirection>
Numbers pcie(const Api& api, DeviceHandle device, Versions&) {
  if (api.pcie_throughput == nullptr) return missing();
  std::uint32_t kilobytes = 0;  // per second
  const Return code = api.pcie_throughput(device, kDirection, &kilobytes);
  return one(code, kilobytes * 1000.0);
}

constexpr bool kBlocks = true, kQuick = false, kAlsoMig = true, kNotMig = false;

// clang-format off
constexpr PlainCall kCalls[] = {
  {Ask::memory, Tier::fast, Subject::memory, kQuick, kAlsoMig,
   {&metric("memory_total_bytes"), &metric("memory_used_bytes"), &metric("memory_free_bytes"), &metric("memory_reserved_bytes")},
   "nvmlDeviceGetMemoryInfo", memory},
  {Ask::busy, Tier::fast, Subject::utilization, kQuick, kNotMig,
   {&metric("busy_ratio"), &metric("memory_busy_ratio")}, "nvmlDeviceGetUtilizationRates", busy},
  {Ask::power, Tier::fast, Subject::power, kQuick, kNotMig, {&metric("power_watts")}, "nvmlDeviceGetPowerUsage", power},
  {Ask::energy, Tier::fast, Subject::power, kQuick, kNotMig, {&metric("energy_joules")}, "nvmlDeviceGetTotalEnergyConsumption", energy},
  {Ask::core_clock, Tier::normal, Subject::utilization, kQuick, kNotMig, {&metric("clock_core_mhz")}, "nvmlDeviceGetClockInfo", clock<kClockSm>},
  {Ask::memory_clock, Tier::normal, Subject::utilization, kQuick, kNotMig, {&metric("clock_memory_mhz")}, "nvmlDeviceGetClockInfo", clock<kClockMemory>},
  {Ask::media_clock, Tier::normal, Subject::utilization, kQuick, kNotMig, {&metric("clock_media_mhz")}, "nvmlDeviceGetClockInfo", clock<kClockVideo>},
  {Ask::temperature, Tier::normal, Subject::temperature, kQuick, kNotMig, {&metric("temperature_celsius")}, "nvmlDeviceGetTemperature", temperature},
  {Ask::margin, Tier::normal, Subject::temperature, kQuick, kNotMig, {&metric("temperature_margin_celsius")}, "nvmlDeviceGetMarginTemperature", margin},
  {Ask::fan, Tier::normal, Subject::temperature, kQuick, kNotMig, {&metric("fan_ratio")}, "nvmlDeviceGetFanSpeed", fan},
  {Ask::throttle, Tier::normal, Subject::utilization, kQuick, kNotMig, {&metric("throttle_reasons")}, "nvmlDeviceGetCurrentClocksEventReasons", throttle},
  {Ask::core_clock_max, Tier::slow, Subject::utilization, kQuick, kNotMig, {&metric("clock_core_max_mhz")}, "nvmlDeviceGetMaxClockInfo", core_clock_max},
  {Ask::temperature_limit, Tier::slow, Subject::temperature, kQuick, kNotMig, {&metric("temperature_limit_celsius")}, "nvmlDeviceGetTemperatureThreshold", temperature_limit},
  {Ask::power_limit, Tier::slow, Subject::power, kQuick, kNotMig, {&metric("power_limit_watts")}, "nvmlDeviceGetEnforcedPowerLimit", power_limit},
  {Ask::link_generation, Tier::slow, Subject::utilization, kQuick, kNotMig, {&metric("pcie_generation")}, "nvmlDeviceGetCurrPcieLinkGeneration", link_generation},
  {Ask::link_lanes, Tier::slow, Subject::utilization, kQuick, kNotMig, {&metric("pcie_lanes")}, "nvmlDeviceGetCurrPcieLinkWidth", link_lanes},
  {Ask::ecc, Tier::slow, Subject::memory, kQuick, kNotMig, {&metric("ecc_errors")}, "nvmlDeviceGetTotalEccErrors", ecc},
  {Ask::pcie_receive, Tier::slow, Subject::utilization, kBlocks, kNotMig, {&metric("pcie_receive_bytes_per_second")}, "nvmlDeviceGetPcieThroughput", pcie<kPcieReceive>},
  {Ask::pcie_send, Tier::slow, Subject::utilization, kBlocks, kNotMig, {&metric("pcie_send_bytes_per_second")}, "nvmlDeviceGetPcieThroughput", pcie<kPcieSend>},
};
// clang-format on

}  // namespace

std::span<const PlainCall> plain_calls() noexcept { return kCalls; }

const PlainCall* plain_call(Ask ask) noexcept {
  for (const PlainCall& call : kCalls) {
    if (call.ask == ask) return &call;
  }
  return nullptr;
}

const char* source_of(const PlainCall& call, const Versions& versions) noexcept {
  switch (call.ask) {
    case Ask::memory:
      return versions.memory_v2 ? "nvmlDeviceGetMemoryInfo_v2"
                                : "nvmlDeviceGetMemoryInfo (used includes reserved)";
    case Ask::temperature:
      return versions.temperature_v ? "nvmlDeviceGetTemperatureV" : "nvmlDeviceGetTemperature";
    case Ask::throttle:
      return versions.event_reasons ? "nvmlDeviceGetCurrentClocksEventReasons"
                                    : "nvmlDeviceGetCurrentClocksThrottleReasons";
    default:
      return call.function;
  }
}

Tier tier_of(Ask ask) noexcept {
  if (ask <= Ask::fast_fields) return Tier::fast;
  return ask <= Ask::counters ? Tier::normal : Tier::slow;
}

}  // namespace genscope::probe::nvml
