// All fields of a tier are one call to the driver. Each is asked with an answer that means failure,
// so a field that the driver skips is not a zero. One that keeps failing is asked at every tenth
// tick only, and one that the device does not have never again (call_state.h), which keeps the call
// short. A value whose time stamp stands still is stale, whatever it says.
#include "probe/nvidia/fields.h"

#include <cstring>

#include "trace/metrics.h"

namespace genscope::probe::nvml {

namespace {

using trace::metric;

constexpr std::uint32_t kAllLinks = kAllOnes32;
constexpr double kMilli = 1e-3;
constexpr double kKibi = 1024;

// clang-format off
constexpr FieldWay kWays[] = {
  {&metric("power_watts"), Tier::fast, Subject::power, {kFieldPowerAverage, 0}, 0, kMilli, "nvml field 185 scope 0"},
  {&metric("power_instant_watts"), Tier::fast, Subject::power, {kFieldPowerInstant, 0}, 0, kMilli, "nvml field 186 scope 0"},
  {&metric("energy_joules"), Tier::fast, Subject::power, {kFieldEnergy, 0}, 0, kMilli, "nvml field 83"},
  {&metric("temperature_memory_celsius"), Tier::normal, Subject::temperature, {kFieldMemoryTemperature, 0}, 0, 1, "nvml field 82"},
  {&metric("throttle_power_ns"), Tier::normal, Subject::utilization, {kFieldPowerViolation, 0}, 0, 1, "nvml field 74"},
  {&metric("throttle_thermal_ns"), Tier::normal, Subject::utilization, {kFieldThermalViolation, 0}, 0, 1, "nvml field 75"},
  {&metric("power_limit_watts"), Tier::slow, Subject::power, {kFieldPowerLimit, 0}, 0, kMilli, "nvml field 190 scope 0"},
  {&metric("pcie_receive_bytes"), Tier::slow, Subject::utilization, {kFieldPcieReceive, 0}, 0, 1, "nvml field 198"},
  {&metric("pcie_send_bytes"), Tier::slow, Subject::utilization, {kFieldPcieSend, 0}, 0, 1, "nvml field 197"},
  {&metric("link_receive_bytes"), Tier::slow, Subject::utilization, {kFieldNvlinkReceive, 0}, kAllLinks, kKibi, "nvml field 139, all links"},
  {&metric("link_receive_bytes"), Tier::slow, Subject::utilization, {kFieldNvlink5Receive, 0}, kAllLinks, 1, "nvml field 204, all links"},
  {&metric("link_send_bytes"), Tier::slow, Subject::utilization, {kFieldNvlinkSend, 0}, kAllLinks, kKibi, "nvml field 138, all links"},
  {&metric("link_send_bytes"), Tier::slow, Subject::utilization, {kFieldNvlink5Send, 0}, kAllLinks, 1, "nvml field 202, all links"},
};
// clang-format on

constexpr std::size_t fields_of(const FieldWay& way) { return way.fields[1] != 0 ? 2 : 1; }

// A field that the driver skips keeps this: a failure, not a zero that looks like success.
FieldValue question(std::uint32_t field, std::uint32_t scope) noexcept {
  FieldValue value;
  std::memset(&value, 0, sizeof value);
  value.field = field;
  value.scope = scope;
  value.code = kUnknown;
  return value;
}

}  // namespace

bool enabled(const ProbeOptions& options, Subject subject) noexcept {
  switch (subject) {
    case Subject::memory:
      return options.gpu_memory;
    case Subject::utilization:
      return options.gpu_utilization;
    case Subject::temperature:
      return options.gpu_temperature;
    case Subject::power:
      return options.gpu_power;
    case Subject::processes:
      return options.gpu_processes;
    case Subject::counters:
      return options.gpu_counters;
  }
  return false;
}

std::optional<double> decode(std::uint32_t type, const Value& value) noexcept {
  switch (type) {
    case kDouble:
      return value.as_double == value.as_double ? std::optional(value.as_double) : std::nullopt;
    case kUnsigned32:
      return static_cast<double>(value.as_u32);
    case kUnsignedLong:
      return static_cast<double>(value.as_ulong);
    case kUnsigned64:
      return static_cast<double>(value.as_u64);
    case kSigned64:
      return static_cast<double>(value.as_s64);
    case kSigned32:
      return static_cast<double>(value.as_s32);
    case kUnsigned16:
      return static_cast<double>(value.as_u16);
    default:
      return std::nullopt;
  }
}

std::span<const FieldWay> field_ways() noexcept { return kWays; }

bool StampWatch::stale(std::int64_t stamp_us, std::int64_t now_ns) noexcept {
  if (stamp_us == 0) return false;
  if (stamp_us != stamp_us_) {
    stamp_us_ = stamp_us;
    moved_ns_ = now_ns;
  }
  return now_ns - moved_ns_ >= kStaleNs;
}

void FieldSet::add(const FieldWay& way, std::uint32_t series) noexcept {
  if (count_ == kMaxWays) return;
  entries_[count_] = {};
  entries_[count_].way = &way;
  entries_[count_].series = series;
  count_++;
}

bool FieldSet::prepare(std::int64_t now_ns) noexcept {
  requested_ = 0;
  for (Entry& entry : entries()) {
    entry.asked = entry.state.due(now_ns);
    if (!entry.asked) continue;
    entry.first = requested_;
    for (std::size_t i = 0; i < fields_of(*entry.way); ++i) {
      request_[requested_++] = question(entry.way->fields[i], entry.way->scope);
    }
  }
  return requested_ > 0;
}

void FieldSet::fetch(const Api& api, DeviceHandle device) noexcept {
  code_ = api.field_values != nullptr
              ? api.field_values(device, static_cast<int>(requested_), request_.data())
              : Return{kFunctionNotFound};
}

Verdict FieldSet::result(Entry& entry, std::int64_t now_ns, double& value) noexcept {
  Return code = code_;
  bool stale = false, odd = false;
  value = 0;
  for (std::size_t i = 0; i < fields_of(*entry.way) && code == kSuccess; ++i) {
    const FieldValue& answer = request_[entry.first + i];
    code = answer.code;
    // A question that this driver does not know, whatever other fields say.
    if (code == kInvalidArgument) code = kNotSupported;
    if (code != kSuccess) break;
    const std::optional<double> number = decode(answer.type, answer.value);
    odd = odd || !number.has_value();
    value += number.value_or(0) * entry.way->scale;
    stale = entry.stamps[i].stale(answer.stamp_us, now_ns) || stale;
  }
  const Verdict verdict = entry.state.judge(code, now_ns);
  if (verdict.kind != Verdict::Kind::value) return verdict;
  if (odd)
    return {Verdict::Kind::say, SampleStatus::error, "a value of a type that we do not know"};
  if (stale) {
    return {Verdict::Kind::say, SampleStatus::stale, "the driver's time stamp stands still"};
  }
  return verdict;
}

Return try_way(const Api& api, DeviceHandle device, const FieldWay& way) noexcept {
  if (api.field_values == nullptr) return kFunctionNotFound;
  for (std::size_t i = 0; i < fields_of(way); ++i) {
    FieldValue value = question(way.fields[i], way.scope);
    Return code = api.field_values(device, 1, &value);
    if (code == kSuccess) code = value.code;
    if (code == kInvalidArgument) code = kNotSupported;
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

}  // namespace genscope::probe::nvml
