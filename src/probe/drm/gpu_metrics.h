// The gpu_metrics blob of amdgpu: one binary structure, of a dozen versions.
//
//   offset 0  u16 size of the structure
//          2  u8  format: 1 discrete, 2 and 3 APU
//          3  u8  content revision
//          4  the fields; where depends on the version
//
// A field of all ones is not available. Only versions in our table are decoded; of others the
// header is known and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace genscope::probe::drm {

struct GpuMetrics {
  std::uint8_t format = 0;
  std::uint8_t content = 0;
  bool known = false;  // the version is in the table: what follows was looked for
  std::optional<double> temperature_celsius;
  std::optional<double> temperature_hotspot_celsius;
  std::optional<double> temperature_memory_celsius;
  std::optional<double> busy_ratio;  // not of format 2: its unit differs from chip to chip
  std::optional<double> memory_busy_ratio;
  std::optional<double> power_watts;
  std::optional<double> energy_joules;  // from 1.4 on; before, its unit differs from chip to chip
  std::optional<double> clock_core_mhz;
  std::optional<double> clock_memory_mhz;
  std::optional<double> link_gigatransfers;
  std::optional<double> link_lanes;
  std::optional<double> xgmi_receive_bytes;
  std::optional<double> xgmi_send_bytes;
  std::optional<std::uint64_t> throttle_reasons;  // bits of trace::ThrottleBit
};

inline constexpr std::size_t kGpuMetricsBytes = 1024;  // more than any version that we know

// False if `bytes` cannot be a blob: too short for a header, or for the size that it states.
// `bytes` may be padded.
bool decode_gpu_metrics(std::span<const char> bytes, GpuMetrics& metrics) noexcept;

// amdgpu's ASIC-independent throttle word as bits of trace::ThrottleBit.
std::uint64_t throttle_bits_of_amd(std::uint64_t independent) noexcept;

}  // namespace genscope::probe::drm
