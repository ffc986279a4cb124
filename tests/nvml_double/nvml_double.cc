// A double of libnvidia-ml.so.1: a real shared library with that SONAME, its own declarations, and
// a script. It is stricter than the driver: it checks version words (else 25), refuses calls before
// init (1), null pointers and dead handles (2), undersized arrays (7), poisons what a failed call
// would leave unwritten, counts calls, and records a violation when two threads are inside calls at
// once unless one of them is known to block.
//
// The script is the file named by GENSCOPE_NVML_SCENARIO, read at nvmlInit_v2. A line is one of
//   # comment
//   time virtual|real           virtual: nvml_double_set_time_ns moves it, latencies add to
//                               nvml_double_clock_ns of the thread that sits through them
//   devices N
//   WHO KEY SERIES              WHO: a device "0", its MIG instance "0.1", "*" for every device
//                               without a line of its own, "system" for the library
// and a SERIES one of
//   VALUE                       constant
//   T:VALUE T:VALUE ...         steps: from second T on
//   ramp T:VALUE T:VALUE ...    straight lines
//   integral KEY                of that ramp, over seconds: mW become mJ
//   = text                      the rest of the line
// Every KEY with a suffix scripts the call itself: "memory!" its return code, "memory~" its latency
// in ms, "memory#" not 0: a segmentation fault. "all!" is the code of every call on a device. A key
// that is not there is a metric that the device does not support (3).
//
//   system: init driver cuda count handle.N (codes of GetHandleByIndex: "handle.1! 4")
//   texts: uuid name pci(0000:01:00.0)    numbers: index architecture epoch (another: a new handle)
//   memory.total .used .free .reserved (bytes)   busy.gpu busy.memory (%)   power energy limit
//   clock.N max_clock.N temperature margin threshold.N fan throttle link_generation link_width
//   pcie.0 pcie.1 ecc   samples.busy, samples.stamp (s; default: now)
//   fields! fields~; field.N, field.N!, field.N.type, field.N.stamp (s)
//   processes.compute|graphics|mps: PID/BYTES[/GI/CI],... BYTES -1: unknown; "none": an empty list
//   processes.compute.grow: so many more at each call    use: PID/SM[/STAMP],...
//   mig.mode mig.max mig.I (1: there is one); of an instance: gi ci slices sms
//   gpm (1: supported), gpm.N (%)
//
// NVML_DOUBLE_LEVEL picks the exports: 450 (no field values, lists v1), 470, 510, 535 (early: lists
// v3 of 32 bytes), 550, 580.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "answer.h"

using namespace nvml_double;

// --- the library

FUNCTION(nvmlInit_v2);
EXPORT u32 nvmlInit_v2() {
  const char* const path = std::getenv("GENSCOPE_NVML_SCENARIO");
  std::string error = "GENSCOPE_NVML_SCENARIO is not set";
  if (path == nullptr || !world().scenario.read(path, error)) {
    std::fprintf(stderr, "nvml double: %s\n", error.c_str());
    return 999;
  }
  const Guard guard(f_nvmlInit_v2, "init", false);
  if (guard.code == 0) world().initialized.fetch_add(1);
  return guard.code;
}

FUNCTION(nvmlShutdown);
EXPORT u32 nvmlShutdown() {
  const Guard guard(f_nvmlShutdown, "shutdown");
  if (guard.code == 0) world().initialized.fetch_sub(1);
  return guard.code;
}

EXPORT const char* nvmlErrorString(u32 code) {
  return code == 0 ? "Success" : code == 15 ? "GPU is lost" : "scripted error";
}

FUNCTION(nvmlSystemGetDriverVersion);
EXPORT u32 nvmlSystemGetDriverVersion(char* out, u32 size) {
  const Guard guard(f_nvmlSystemGetDriverVersion, "driver");
  return one_text(guard, "driver", out, size);
}

FUNCTION(nvmlSystemGetCudaDriverVersion_v2);
EXPORT u32 nvmlSystemGetCudaDriverVersion_v2(int* out) {
  const Guard guard(f_nvmlSystemGetCudaDriverVersion_v2, "cuda");
  return one_number(guard, "cuda", reinterpret_cast<u32*>(out));
}

FUNCTION(nvmlDeviceGetCount_v2);
EXPORT u32 nvmlDeviceGetCount_v2(u32* count) {
  const Guard guard(f_nvmlDeviceGetCount_v2, "count");
  if (guard.code != 0) return guard.code;
  if (count == nullptr) return kInvalid;
  *count = static_cast<u32>(world().scenario.devices());
  return kOk;
}

FUNCTION(nvmlDeviceGetHandleByIndex_v2);
EXPORT u32 nvmlDeviceGetHandleByIndex_v2(u32 index, const Handle** out) {
  const Guard guard(f_nvmlDeviceGetHandleByIndex_v2, "handle." + std::to_string(index));
  if (guard.code != 0) return guard.code;
  if (out == nullptr || index >= static_cast<u32>(world().scenario.devices())) return kInvalid;
  *out = handle_of(static_cast<int>(index), -1);
  return kOk;
}

FUNCTION(nvmlDeviceGetHandleByPciBusId_v2);
EXPORT u32 nvmlDeviceGetHandleByPciBusId_v2(const char* pci, const Handle** out) {
  const Guard guard(f_nvmlDeviceGetHandleByPciBusId_v2, "handle_by_pci");
  if (guard.code != 0) return guard.code;
  if (pci == nullptr || out == nullptr) return kInvalid;
  for (int i = 0; i < world().scenario.devices(); ++i) {
    if (world().scenario.text(std::to_string(i), "pci", seconds()) != pci) continue;
    *out = handle_of(i, -1);
    return kOk;
  }
  return kNotFound;
}

// --- who a device is

TEXT_CALL(nvmlDeviceGetUUID, "uuid")
TEXT_CALL(nvmlDeviceGetName, "name")
NUMBER_CALL(nvmlDeviceGetIndex, "index", u32)
NUMBER_CALL(nvmlDeviceGetArchitecture, "architecture", u32)

struct Pci {
  char legacy[16];
  u32 domain, bus, device, id, subsystem;
  char bus_id[32];
};
FUNCTION(nvmlDeviceGetPciInfo_v3);
EXPORT u32 nvmlDeviceGetPciInfo_v3(const void* device, Pci* out) {
  const Guard guard(f_nvmlDeviceGetPciInfo_v3, device, "pci");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  const std::string text = world().scenario.text(guard.device, "pci", seconds());
  poison(out, sizeof *out);
  if (std::sscanf(text.c_str(), "%x:%x:%x.", &out->domain, &out->bus, &out->device) != 3) {
    return kUnsupported;
  }
  std::snprintf(out->bus_id, sizeof out->bus_id, "%08x:%02x:%02x.0", out->domain, out->bus,
                out->device);
  return kOk;
}

// --- metrics

struct Memory1 {
  u64 total, free, used;
};
FUNCTION(nvmlDeviceGetMemoryInfo);
EXPORT u32 nvmlDeviceGetMemoryInfo(const void* device, Memory1* out) {
  const Guard guard(f_nvmlDeviceGetMemoryInfo, device, "memory");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  poison(out, sizeof *out);
  double total = 0, free = 0, used = 0, reserved = 0;
  if (!guard.number("memory.total", total)) return kUnsupported;
  guard.number("memory.free", free);
  guard.number("memory.used", used);
  guard.number("memory.reserved", reserved);
  *out = {as_u64(total), as_u64(free), as_u64(used + reserved)};
  return kOk;
}

#if NVML_DOUBLE_LEVEL >= 510
struct Memory2 {
  u32 version;
  u64 total, reserved, free, used;
};
FUNCTION(nvmlDeviceGetMemoryInfo_v2);
EXPORT u32 nvmlDeviceGetMemoryInfo_v2(const void* device, Memory2* out) {
  const Guard guard(f_nvmlDeviceGetMemoryInfo_v2, device, "memory");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  if (out->version != 0x02000028) return kWrongVersion;
  double total = 0, free = 0, used = 0, reserved = 0;
  if (!guard.number("memory.total", total)) return kUnsupported;
  guard.number("memory.free", free);
  guard.number("memory.used", used);
  guard.number("memory.reserved", reserved);
  *out = {out->version, as_u64(total), as_u64(reserved), as_u64(free), as_u64(used)};
  return kOk;
}
#endif

struct Busy {
  u32 gpu, memory;
};
FUNCTION(nvmlDeviceGetUtilizationRates);
EXPORT u32 nvmlDeviceGetUtilizationRates(const void* device, Busy* out) {
  const Guard guard(f_nvmlDeviceGetUtilizationRates, device, "busy");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  poison(out, sizeof *out);
  double gpu = 0, memory = 0;
  if (!guard.number("busy.gpu", gpu)) return kUnsupported;
  guard.number("busy.memory", memory);
  *out = {as_u32(gpu), as_u32(memory)};
  return kOk;
}

struct OneSample {
  u64 stamp;
  union {
    u32 number;
    u64 all;
  };
};
FUNCTION(nvmlDeviceGetSamples);
EXPORT u32 nvmlDeviceGetSamples(const void* device, u32 type, u64 last_seen, u32* value_type,
                                u32* count, OneSample* out) {
  const Guard guard(f_nvmlDeviceGetSamples, device, "samples");
  if (guard.code != 0) return guard.code;
  if (value_type == nullptr || count == nullptr || type > 7) return kInvalid;
  double busy = 0;
  if (type != 1 || !guard.number("samples.busy", busy)) return kUnsupported;
  *value_type = 1;
  if (out == nullptr) {
    *count = 16;
    return kOk;
  }
  if (*count == 0) return kInvalid;
  const auto stamp = static_cast<u64>(stamp_us(guard, "samples.stamp"));
  if (stamp <= last_seen) return kNotFound;
  poison(out, sizeof *out * *count);
  out[0].stamp = stamp;
  out[0].number = as_u32(busy);
  *count = 1;
  return kOk;
}

#if NVML_DOUBLE_LEVEL > 450
struct Field {
  u32 id, scope;
  std::int64_t stamp, latency;
  u32 type, code;
  union {
    double real;
    u32 word;
    u64 number;
    std::int64_t signed_number;
    std::int32_t signed_word;
    std::uint16_t half;
  };
};

static void answer(const Guard& guard, Field& field) {
  const std::string key = "field." + std::to_string(field.id);
  const bool per_link = field.id == 138 || field.id == 139 || field.id == 202 || field.id == 204;
  double value = 0, code = 0;
  poison(&field.number, sizeof field.number);
  poison(&field.type, sizeof field.type);
  field.code = kOk;
  if (field.scope != (per_link ? 0xFFFFFFFF : 0)) field.code = kInvalid;
  if (field.code == kOk && !guard.number(key, value)) field.code = kUnsupported;
  if (guard.number(key + "!", code) && code != 0) field.code = static_cast<u32>(code);
  if (field.code != kOk) return;
  double type = field.id == 82 || (field.id >= 185 && field.id <= 192) ? 1 : 3;
  guard.number(key + ".type", type);
  field.type = static_cast<u32>(type);
  field.stamp = stamp_us(guard, key + ".stamp");
  field.latency = 1;
  switch (field.type) {
    case 0:
      field.real = value;
      break;
    case 1:
      field.word = as_u32(value);
      break;
    case 4:
      field.signed_number = static_cast<std::int64_t>(value);
      break;
    case 5:
      field.signed_word = static_cast<std::int32_t>(value);
      break;
    case 6:
      field.half = static_cast<std::uint16_t>(value);
      break;
    default:
      field.number = as_u64(value);
      break;
  }
}

FUNCTION(nvmlDeviceGetFieldValues);
EXPORT u32 nvmlDeviceGetFieldValues(const void* device, int count, Field* out) {
  const Guard guard(f_nvmlDeviceGetFieldValues, device, "fields");
  if (guard.code != 0) return guard.code;
  if (out == nullptr || count <= 0) return kInvalid;
  for (int i = 0; i < count; ++i) answer(guard, out[i]);
  return kOk;
}
#endif

NUMBER_CALL(nvmlDeviceGetPowerUsage, "power", u32)
NUMBER_CALL(nvmlDeviceGetTotalEnergyConsumption, "energy", u64)
NUMBER_CALL(nvmlDeviceGetEnforcedPowerLimit, "limit", u32)
NUMBER_CALL(nvmlDeviceGetFanSpeed, "fan", u32)
NUMBER_CALL(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle", u64)
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkGeneration, "link_generation", u32)
NUMBER_CALL(nvmlDeviceGetCurrPcieLinkWidth, "link_width", u32)
INDEXED_CALL(nvmlDeviceGetClockInfo, "clock")
INDEXED_CALL(nvmlDeviceGetMaxClockInfo, "max_clock")
INDEXED_CALL(nvmlDeviceGetTemperatureThreshold, "threshold")
INDEXED_CALL(nvmlDeviceGetPcieThroughput, "pcie")
#if NVML_DOUBLE_LEVEL >= 535
NUMBER_CALL(nvmlDeviceGetCurrentClocksEventReasons, "throttle", u64)
#endif

FUNCTION(nvmlDeviceGetTemperature);
EXPORT u32 nvmlDeviceGetTemperature(const void* device, u32 sensor, u32* out) {
  const Guard guard(f_nvmlDeviceGetTemperature, device, "temperature");
  return sensor != 0 ? kInvalid : one_number(guard, "temperature", out);
}

FUNCTION(nvmlDeviceGetTotalEccErrors);
EXPORT u32 nvmlDeviceGetTotalEccErrors(const void* device, u32 error, u32 counter, u64* out) {
  const Guard guard(f_nvmlDeviceGetTotalEccErrors, device, "ecc");
  return error > 1 || counter > 1 ? kInvalid : one_number(guard, "ecc", out);
}

#if NVML_DOUBLE_LEVEL >= 580
struct Celsius {
  u32 version, sensor;
  std::int32_t value;
};
FUNCTION(nvmlDeviceGetTemperatureV);
EXPORT u32 nvmlDeviceGetTemperatureV(const void* device, Celsius* out) {
  const Guard guard(f_nvmlDeviceGetTemperatureV, device, "temperature");
  if (guard.code != 0) return guard.code;
  if (out == nullptr || out->sensor != 0) return kInvalid;
  if (out->version != 0x0100000c) return kWrongVersion;
  return one_number(guard, "temperature", reinterpret_cast<u32*>(&out->value));
}
struct Margin {
  u32 version;
  std::int32_t value;
};
FUNCTION(nvmlDeviceGetMarginTemperature);
EXPORT u32 nvmlDeviceGetMarginTemperature(const void* device, Margin* out) {
  const Guard guard(f_nvmlDeviceGetMarginTemperature, device, "margin");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  if (out->version != 0x01000008) return kWrongVersion;
  return one_number(guard, "margin", reinterpret_cast<u32*>(&out->value));
}
#endif
