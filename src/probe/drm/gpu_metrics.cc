#include "probe/drm/gpu_metrics.h"

#include <cstring>

#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

// Where a field is and how wide; offset 0 (the header) means that the version has no such field.
struct Field {
  std::uint16_t offset = 0;
  std::uint8_t bytes = 2;
};

struct Layout {
  std::uint8_t format, content;
  std::uint16_t size;
  double celsius;  // per unit of temperature
  double watts;    // per unit of power
  Field temperature, hotspot, memory;
  Field busy, memory_busy;
  Field power, energy;
  Field core_clock, memory_clock;
  Field lanes, speed;
  Field throttle, independent;
  Field xgmi_read, xgmi_write;  // the first of eight links
};

constexpr Field kNone{};
constexpr Field u32(std::uint16_t offset) { return {offset, 4}; }
constexpr Field u64(std::uint16_t offset) { return {offset, 8}; }
constexpr double kEnergyUnitJoules = 15.259e-6;
constexpr std::size_t kXgmiLinks = 8;

// clang-format off
constexpr Layout kLayouts[] = {
  //                      temperatures     busy          power  energy   clocks        link                   throttle
  {1, 0,  80, 1, 1,       {16}, {18}, {20}, {28}, {30},  {34}, kNone,   {54}, {58},   {74, 1}, {75, 1},      u32(68), kNone, kNone, kNone},
  {1, 1,  96, 1, 1,       {4}, {6}, {8},    {16}, {18},  {22}, kNone,   {54}, {58},   {74}, {76},            u32(68), kNone, kNone, kNone},
  {1, 2, 104, 1, 1,       {4}, {6}, {8},    {16}, {18},  {22}, kNone,   {54}, {58},   {74}, {76},            u32(68), kNone, kNone, kNone},
  {1, 3, 120, 1, 1,       {4}, {6}, {8},    {16}, {18},  {22}, kNone,   {54}, {58},   {74}, {76},            u32(68), u64(112), kNone, kNone},
  {1, 4, 288, 1, 1,       kNone, {4}, {6},  {12}, {14},  {10}, u64(24), {240}, {280}, {48}, {50},            u32(40), kNone, u64(104), u64(168)},
  {1, 5, 360, 1, 1,       kNone, {4}, {6},  {12}, {14},  {10}, u64(88), {312}, {352}, {112}, {114},          u32(104), kNone, u64(176), u64(240)},
  {2, 0, 120, 0.01, 1e-3, {16}, kNone, kNone, kNone, kNone, {44}, kNone, {80}, {84},  kNone, kNone,          u32(112), kNone, kNone, kNone},
  {2, 1, 120, 0.01, 1e-3, {4}, kNone, kNone, kNone, kNone, {40}, kNone, {76}, {80},   kNone, kNone,          u32(108), kNone, kNone, kNone},
  {2, 2, 128, 0.01, 1e-3, {4}, kNone, kNone, kNone, kNone, {40}, kNone, {76}, {80},   kNone, kNone,          u32(108), u64(120), kNone, kNone},
  {2, 3, 152, 0.01, 1e-3, {4}, kNone, kNone, kNone, kNone, {40}, kNone, {76}, {80},   kNone, kNone,          u32(108), u64(120), kNone, kNone},
  {2, 4, 168, 0.01, 1e-3, {4}, kNone, kNone, kNone, kNone, {40}, kNone, {76}, {80},   kNone, kNone,          u32(108), u64(120), kNone, kNone},
  {3, 0, 264, 0.01, 1e-3, {4}, kNone, kNone, {42}, kNone, u32(112), kNone, {174}, {186}, kNone, kNone,       kNone, kNone, kNone, kNone},
};
// clang-format on

std::optional<std::uint64_t> take(std::span<const char> bytes, Field field) noexcept {
  if (field.offset == 0 || field.offset + std::size_t{field.bytes} > bytes.size()) return {};
  std::uint64_t value = 0;
  for (unsigned i = field.bytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[field.offset + i]);
  }
  const std::uint64_t not_available = ~std::uint64_t{0} >> (64 - 8 * field.bytes);
  if (value == not_available) return {};
  return value;
}

std::optional<double> take(std::span<const char> bytes, Field field, double scale) noexcept {
  const auto raw = take(bytes, field);
  if (!raw) return {};
  return static_cast<double>(*raw) * scale;
}

// All links of an array of kilobytes; links that are not there read all ones.
std::optional<double> sum_links(std::span<const char> bytes, Field first) noexcept {
  if (first.offset == 0) return {};
  std::optional<double> sum;
  for (std::size_t i = 0; i < kXgmiLinks; ++i) {
    const Field link = u64(static_cast<std::uint16_t>(first.offset + 8 * i));
    if (const auto kib = take(bytes, link, 1024)) sum = sum.value_or(0) + *kib;
  }
  return sum;
}

// Without the independent word all that is known is whether it is held down.
std::optional<std::uint64_t> take_throttle(std::span<const char> bytes, const Layout& at) noexcept {
  if (const auto word = take(bytes, at.independent)) return throttle_bits_of_amd(*word);
  const auto word = take(bytes, at.throttle);
  if (!word) return {};
  return *word != 0 ? std::uint64_t{trace::kThrottleOther} : 0;
}

}  // namespace

std::uint64_t throttle_bits_of_amd(std::uint64_t independent) noexcept {
  constexpr std::uint64_t kPower = 0xFF;                  // PPT0..3, SPL, FPPT, SPPT
  constexpr std::uint64_t kCurrent = 0xFFull << 16;       // TDC, EDC, APCC
  constexpr std::uint64_t kTemperature = 0xFFFull << 32;  // sensors of chip, memory, regulators
  constexpr std::uint64_t kHot = 0xFull << 44;            // VRHOT, PROCHOT
  std::uint64_t bits = 0;
  if ((independent & kPower) != 0) bits |= trace::kThrottlePowerCap;
  if ((independent & kCurrent) != 0) bits |= trace::kThrottleCurrent;
  if ((independent & kTemperature) != 0) bits |= trace::kThrottleThermalSoftware;
  if ((independent & kHot) != 0) bits |= trace::kThrottleThermalHardware;
  if ((independent & ~(kPower | kCurrent | kTemperature | kHot)) != 0) {
    bits |= trace::kThrottleOther;
  }
  return bits;
}

bool decode_gpu_metrics(std::span<const char> bytes, GpuMetrics& metrics) noexcept {
  metrics = {};
  if (bytes.size() < 4) return false;
  std::uint16_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size < 4 || size > bytes.size()) return false;
  metrics.format = static_cast<std::uint8_t>(bytes[2]);
  metrics.content = static_cast<std::uint8_t>(bytes[3]);
  for (const Layout& at : kLayouts) {
    if (at.format != metrics.format || at.content != metrics.content || at.size != size) continue;
    bytes = bytes.first(size);
    metrics.known = true;
    metrics.temperature_celsius = take(bytes, at.temperature, at.celsius);
    metrics.temperature_hotspot_celsius = take(bytes, at.hotspot, at.celsius);
    metrics.temperature_memory_celsius = take(bytes, at.memory, at.celsius);
    metrics.busy_ratio = take(bytes, at.busy, 0.01);
    metrics.memory_busy_ratio = take(bytes, at.memory_busy, 0.01);
    metrics.power_watts = take(bytes, at.power, at.watts);
    metrics.energy_joules = take(bytes, at.energy, kEnergyUnitJoules);
    metrics.clock_core_mhz = take(bytes, at.core_clock, 1);
    metrics.clock_memory_mhz = take(bytes, at.memory_clock, 1);
    metrics.link_lanes = take(bytes, at.lanes, 1);
    metrics.link_gigatransfers = take(bytes, at.speed, 0.1);
    metrics.xgmi_receive_bytes = sum_links(bytes, at.xgmi_read);
    metrics.xgmi_send_bytes = sum_links(bytes, at.xgmi_write);
    metrics.throttle_reasons = take_throttle(bytes, at);
    break;
  }
  return true;
}

}  // namespace genscope::probe::drm
