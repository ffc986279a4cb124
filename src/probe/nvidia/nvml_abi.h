// The binary interface of libnvidia-ml.so.1 as far as we use it: our own declarations, because no
// header may be had where genscope is built. Sizes and offsets were measured (Linux LP64); they are
// the same in every header from 11.8 to 13.3, and the assertions at the end hold them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genscope::probe::nvml {

struct DeviceOpaque;
using DeviceHandle = DeviceOpaque*;
struct GpmSampleOpaque;
using GpmSample = GpmSampleOpaque*;

// Every function returns a 32-bit code; one that we do not know is still a failure.
using Return = std::uint32_t;
enum : Return {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kInsufficientPower = 8,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kIrqIssue = 11,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kLibRmVersionMismatch = 18,
  kNoData = 21,
  kArgumentVersionMismatch = 25,
  kDeprecated = 26,
  kNotReady = 27,
  kGpuNotFound = 28,
  kUnknown = 999,
};

// Versioned structs open with this word.
template <typename T>
constexpr std::uint32_t version_word(std::uint32_t version) {
  return static_cast<std::uint32_t>(sizeof(T)) | (version << 24);
}

inline constexpr std::uint32_t kNameSize = 96;
inline constexpr std::uint32_t kUuidSize = 96;
inline constexpr std::uint32_t kVersionSize = 80;
inline constexpr std::uint32_t kAllOnes32 = 0xFFFFFFFF;
inline constexpr std::uint64_t kAllOnes64 = 0xFFFFFFFFFFFFFFFF;

struct PciInfo {
  char bus_id_legacy[16];
  std::uint32_t domain, bus, device;
  std::uint32_t pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

struct MemoryV1 {
  std::uint64_t total, free, used;  // used: reserved included
};
struct MemoryV2 {
  std::uint32_t version;
  std::uint64_t total, reserved, free, used;  // used: reserved excluded
};
struct Bar1Memory {
  std::uint64_t total, free, used;
};

struct Utilization {
  std::uint32_t gpu, memory;  // percent
};

struct ProcessInfoV1 {
  std::uint32_t pid;
  std::uint64_t used_bytes;  // all ones: unknown
};
struct ProcessInfoV2 {  // of _v2 and _v3
  std::uint32_t pid;
  std::uint64_t used_bytes;
  std::uint32_t gpu_instance, compute_instance;  // all ones: no MIG
};
struct ProcessInfoEarly535 {  // of _v3 in the first drivers of 535
  std::uint32_t pid;
  std::uint64_t used_bytes;
  std::uint32_t gpu_instance, compute_instance;
  std::uint64_t protected_bytes;
};
struct ProcessDetail {
  std::uint32_t pid;
  std::uint64_t used_bytes;
  std::uint32_t gpu_instance, compute_instance;
  std::uint64_t protected_bytes;
};
struct ProcessDetailList {
  std::uint32_t version, mode, count;
  ProcessDetail* entries;
};

struct ProcessUtilizationSample {
  std::uint32_t pid;
  std::uint64_t stamp_us;
  std::uint32_t sm, memory, encoder, decoder;  // percent
};
struct ProcessUtilizationInfo {
  std::uint64_t stamp_us;
  std::uint32_t pid, sm, memory, encoder, decoder, jpeg, ofa;
};
struct ProcessesUtilizationInfo {
  std::uint32_t version, count;
  std::uint64_t last_seen_us;
  ProcessUtilizationInfo* entries;
};

union Value {
  double as_double;
  std::uint32_t as_u32;
  unsigned long as_ulong;
  std::uint64_t as_u64;
  std::int64_t as_s64;
  std::int32_t as_s32;
  std::uint16_t as_u16;
};
enum ValueType : std::uint32_t {
  kDouble = 0,
  kUnsigned32 = 1,
  kUnsignedLong = 2,
  kUnsigned64 = 3,
  kSigned64 = 4,
  kSigned32 = 5,
  kUnsigned16 = 6,
};
struct Sample {
  std::uint64_t stamp_us;
  Value value;
};
struct FieldValue {
  std::uint32_t field, scope;
  std::int64_t stamp_us;
  std::int64_t latency_us;
  std::uint32_t type;  // ValueType
  Return code;         // of this field: success of the call says nothing about it
  Value value;
};

struct ViolationTime {
  std::uint64_t reference_ns, violation_ns;
};
struct DeviceAttributes {  // of a MIG instance
  std::uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
  std::uint32_t gpu_slices, compute_slices;
  std::uint64_t memory_mib;
};
struct EventData {
  DeviceHandle device;
  std::uint64_t type, data;
  std::uint32_t gpu_instance, compute_instance;
};
struct TemperatureV1 {
  std::uint32_t version, sensor;
  std::int32_t celsius;
};
struct MarginTemperatureV1 {
  std::uint32_t version;
  std::int32_t celsius;
};

struct GpmSupport {
  std::uint32_t version;  // the plain number 1
  std::uint32_t supported;
};
struct GpmMetric {
  std::uint32_t id;
  Return code;
  double value;
  const char* texts[3];
};
struct GpmMetricsGet {
  static constexpr std::size_t kMaxMetrics = 333;  // of the newest header; older ones have less
  std::uint32_t version;                           // the plain number 1
  std::uint32_t count;
  GpmSample first, second;
  GpmMetric metrics[kMaxMetrics];
};

// Numbers of what may be asked for.
enum : std::uint32_t { kSamplesGpuBusy = 1 };
enum : std::uint32_t { kClockSm = 1, kClockMemory = 2, kClockVideo = 3 };
enum : std::uint32_t { kPcieSend = 0, kPcieReceive = 1 };
enum : std::uint32_t { kThresholdSlowdown = 1 };
enum : std::uint32_t { kEccUncorrected = 1 };
enum : std::uint32_t { kEccSinceDriverLoad = 0 };
enum : std::uint32_t { kGpmSmActive = 2, kGpmOccupancy = 3, kGpmTensor = 5, kGpmBandwidth = 10 };
enum : std::uint32_t {
  kFieldPowerViolation = 74,     // ns
  kFieldThermalViolation = 75,   // ns
  kFieldMemoryTemperature = 82,  // C
  kFieldEnergy = 83,             // mJ
  kFieldNvlinkSend = 138,        // KiB
  kFieldNvlinkReceive = 139,     // KiB
  kFieldPowerAverage = 185,      // mW
  kFieldPowerInstant = 186,      // mW
  kFieldPowerLimit = 190,        // mW
  kFieldPcieSend = 197,          // B
  kFieldPcieReceive = 198,       // B
  kFieldNvlink5Send = 202,       // B
  kFieldNvlink5Receive = 204,    // B
  // The times of single causes have no number that holds for all drivers: 251 to 253 in the headers
  // of 12.9 and 13.0, where 269 to 271 are of power smoothing. They are not read.
};

// --- the layout, held
#define GENSCOPE_SIZE(type, size) static_assert(sizeof(type) == size)
#define GENSCOPE_AT(type, member, offset) static_assert(offsetof(type, member) == offset)
GENSCOPE_SIZE(DeviceHandle, 8);
GENSCOPE_SIZE(PciInfo, 68);
GENSCOPE_AT(PciInfo, domain, 16);
GENSCOPE_AT(PciInfo, bus, 20);
GENSCOPE_AT(PciInfo, device, 24);
GENSCOPE_AT(PciInfo, pci_device_id, 28);
GENSCOPE_AT(PciInfo, pci_subsystem_id, 32);
GENSCOPE_AT(PciInfo, bus_id, 36);
GENSCOPE_SIZE(MemoryV1, 24);
GENSCOPE_AT(MemoryV1, free, 8);
GENSCOPE_AT(MemoryV1, used, 16);
GENSCOPE_SIZE(MemoryV2, 40);
static_assert(version_word<MemoryV2>(2) == 0x02000028);
GENSCOPE_AT(MemoryV2, total, 8);
GENSCOPE_AT(MemoryV2, reserved, 16);
GENSCOPE_AT(MemoryV2, free, 24);
GENSCOPE_AT(MemoryV2, used, 32);
GENSCOPE_SIZE(Bar1Memory, 24);
GENSCOPE_AT(Bar1Memory, free, 8);
GENSCOPE_AT(Bar1Memory, used, 16);
GENSCOPE_SIZE(Utilization, 8);
GENSCOPE_AT(Utilization, memory, 4);
GENSCOPE_SIZE(ProcessInfoV1, 16);
GENSCOPE_AT(ProcessInfoV1, used_bytes, 8);
GENSCOPE_SIZE(ProcessInfoV2, 24);
GENSCOPE_AT(ProcessInfoV2, used_bytes, 8);
GENSCOPE_AT(ProcessInfoV2, gpu_instance, 16);
GENSCOPE_AT(ProcessInfoV2, compute_instance, 20);
GENSCOPE_SIZE(ProcessInfoEarly535, 32);
GENSCOPE_AT(ProcessInfoEarly535, gpu_instance, 16);
GENSCOPE_AT(ProcessInfoEarly535, protected_bytes, 24);
GENSCOPE_SIZE(ProcessDetail, 32);
GENSCOPE_AT(ProcessDetail, used_bytes, 8);
GENSCOPE_AT(ProcessDetail, gpu_instance, 16);
GENSCOPE_AT(ProcessDetail, compute_instance, 20);
GENSCOPE_AT(ProcessDetail, protected_bytes, 24);
GENSCOPE_SIZE(ProcessDetailList, 24);
static_assert(version_word<ProcessDetailList>(1) == 0x01000018);
GENSCOPE_AT(ProcessDetailList, mode, 4);
GENSCOPE_AT(ProcessDetailList, count, 8);
GENSCOPE_AT(ProcessDetailList, entries, 16);
GENSCOPE_SIZE(ProcessUtilizationSample, 32);
GENSCOPE_AT(ProcessUtilizationSample, stamp_us, 8);
GENSCOPE_AT(ProcessUtilizationSample, sm, 16);
GENSCOPE_AT(ProcessUtilizationSample, memory, 20);
GENSCOPE_AT(ProcessUtilizationSample, encoder, 24);
GENSCOPE_AT(ProcessUtilizationSample, decoder, 28);
GENSCOPE_SIZE(ProcessUtilizationInfo, 40);
GENSCOPE_AT(ProcessUtilizationInfo, pid, 8);
GENSCOPE_AT(ProcessUtilizationInfo, sm, 12);
GENSCOPE_AT(ProcessUtilizationInfo, memory, 16);
GENSCOPE_AT(ProcessUtilizationInfo, encoder, 20);
GENSCOPE_AT(ProcessUtilizationInfo, decoder, 24);
GENSCOPE_AT(ProcessUtilizationInfo, jpeg, 28);
GENSCOPE_AT(ProcessUtilizationInfo, ofa, 32);
GENSCOPE_SIZE(ProcessesUtilizationInfo, 24);
static_assert(version_word<ProcessesUtilizationInfo>(1) == 0x01000018);
GENSCOPE_AT(ProcessesUtilizationInfo, count, 4);
GENSCOPE_AT(ProcessesUtilizationInfo, last_seen_us, 8);
GENSCOPE_AT(ProcessesUtilizationInfo, entries, 16);
GENSCOPE_SIZE(Value, 8);
GENSCOPE_SIZE(Sample, 16);
GENSCOPE_AT(Sample, value, 8);
GENSCOPE_SIZE(FieldValue, 40);
GENSCOPE_AT(FieldValue, scope, 4);
GENSCOPE_AT(FieldValue, stamp_us, 8);
GENSCOPE_AT(FieldValue, latency_us, 16);
GENSCOPE_AT(FieldValue, type, 24);
GENSCOPE_AT(FieldValue, code, 28);
GENSCOPE_AT(FieldValue, value, 32);
GENSCOPE_SIZE(ViolationTime, 16);
GENSCOPE_AT(ViolationTime, violation_ns, 8);
GENSCOPE_SIZE(DeviceAttributes, 40);
GENSCOPE_AT(DeviceAttributes, gpu_slices, 24);
GENSCOPE_AT(DeviceAttributes, compute_slices, 28);
GENSCOPE_AT(DeviceAttributes, memory_mib, 32);
GENSCOPE_SIZE(EventData, 32);
GENSCOPE_AT(EventData, type, 8);
GENSCOPE_AT(EventData, data, 16);
GENSCOPE_AT(EventData, gpu_instance, 24);
GENSCOPE_AT(EventData, compute_instance, 28);
GENSCOPE_SIZE(TemperatureV1, 12);
static_assert(version_word<TemperatureV1>(1) == 0x0100000c);
GENSCOPE_AT(TemperatureV1, sensor, 4);
GENSCOPE_AT(TemperatureV1, celsius, 8);
GENSCOPE_SIZE(MarginTemperatureV1, 8);
static_assert(version_word<MarginTemperatureV1>(1) == 0x01000008);
GENSCOPE_AT(MarginTemperatureV1, celsius, 4);
GENSCOPE_SIZE(GpmSupport, 8);
GENSCOPE_AT(GpmSupport, supported, 4);
GENSCOPE_SIZE(GpmMetric, 40);
GENSCOPE_AT(GpmMetric, code, 4);
GENSCOPE_AT(GpmMetric, value, 8);
GENSCOPE_AT(GpmMetric, texts, 16);
GENSCOPE_SIZE(GpmMetricsGet, 13344);
GENSCOPE_AT(GpmMetricsGet, count, 4);
GENSCOPE_AT(GpmMetricsGet, first, 8);
GENSCOPE_AT(GpmMetricsGet, second, 16);
GENSCOPE_AT(GpmMetricsGet, metrics, 24);
#undef GENSCOPE_SIZE
#undef GENSCOPE_AT

}  // namespace genscope::probe::nvml
