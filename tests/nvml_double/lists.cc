// The double's lists: processes and their use, MIG instances, GPM samples.
#include <cstdio>
#include <cstring>
#include <sstream>
#include <vector>

#include "answer.h"

using namespace nvml_double;

// --- processes

struct Process {
  u32 pid;
  u64 bytes;
  u32 gi, ci;
};

static std::vector<Process> processes_of(const Guard& guard, const std::string& key) {
  std::vector<Process> all;
  std::istringstream list(world().scenario.text(guard.device, key, seconds()));
  std::string entry;
  while (std::getline(list, entry, ',')) {
    long long pid = 0, bytes = 0, gi = -1, ci = -1;
    if (std::sscanf(entry.c_str(), "%lld/%lld/%lld/%lld", &pid, &bytes, &gi, &ci) < 2) continue;
    all.push_back({static_cast<u32>(pid), static_cast<u64>(bytes), static_cast<u32>(gi),
                   static_cast<u32>(ci)});
  }
  return all;
}

// Writes what a driver of that version writes, and not a byte more.
static u32 list_processes(Function& function, const void* device, const std::string& key,
                          u32* count, unsigned char* out, std::size_t stride) {
  const Guard guard(function, device, key);
  if (guard.code != 0) return guard.code;
  if (count == nullptr || (out == nullptr && *count != 0)) return kInvalid;
  if (world().scenario.find(guard.device, key) == nullptr) return kUnsupported;
  std::vector<Process> all = processes_of(guard, key);
  double grow = 0;
  if (guard.number(key + ".grow", grow)) {
    const auto more = static_cast<std::size_t>(grow) * (function.calls.load() - 1);
    for (std::size_t i = 0; i < more; ++i) {
      all.push_back({static_cast<u32>(2000 + i), 1 << 20, ~0U, ~0U});
    }
  }
  const u32 room = *count;
  *count = static_cast<u32>(all.size());
  if (room < all.size()) return kTooSmall;
  for (std::size_t i = 0; i < all.size(); ++i) {
    unsigned char* const entry = out + i * stride;
    std::memcpy(entry, &all[i].pid, 4);
    std::memcpy(entry + 8, &all[i].bytes, 8);
    if (stride >= 24) {
      std::memcpy(entry + 16, &all[i].gi, 4);
      std::memcpy(entry + 20, &all[i].ci, 4);
    }
    if (stride >= 32) std::memset(entry + 24, 0, 8);
  }
  return kOk;
}

#define PROCESS_CALL(name, key, stride)                                            \
  FUNCTION(name);                                                                  \
  EXPORT u32 name(const void* device, u32* count, unsigned char* out) {            \
    return list_processes(f_##name, device, "processes." key, count, out, stride); \
  }
#define PROCESS_CALLS(suffix, stride)                                             \
  PROCESS_CALL(nvmlDeviceGetComputeRunningProcesses##suffix, "compute", stride)   \
  PROCESS_CALL(nvmlDeviceGetGraphicsRunningProcesses##suffix, "graphics", stride) \
  PROCESS_CALL(nvmlDeviceGetMPSComputeRunningProcesses##suffix, "mps", stride)

PROCESS_CALLS(, 16)
#if NVML_DOUBLE_LEVEL >= 470
PROCESS_CALLS(_v2, 24)
#endif
#if NVML_DOUBLE_LEVEL == 535
PROCESS_CALLS(_v3, 32)
#elif NVML_DOUBLE_LEVEL >= 510
PROCESS_CALLS(_v3, 24)
#endif

struct Use {
  u32 pid;
  u64 stamp;
  u32 sm, memory, encoder, decoder;
};
FUNCTION(nvmlDeviceGetProcessUtilization);
EXPORT u32 nvmlDeviceGetProcessUtilization(const void* device, Use* out, u32* count,
                                           u64 last_seen) {
  const Guard guard(f_nvmlDeviceGetProcessUtilization, device, "use");
  if (guard.code != 0) return guard.code;
  if (count == nullptr) return kInvalid;
  if (world().scenario.find(guard.device, "use") == nullptr) return kUnsupported;
  std::istringstream list(world().scenario.text(guard.device, "use", seconds()));
  std::vector<Use> all;
  std::string entry;
  while (std::getline(list, entry, ',')) {
    u32 pid = 0, sm = 0;
    double at = seconds();
    if (std::sscanf(entry.c_str(), "%u/%u/%lf", &pid, &sm, &at) < 2) continue;
    const u64 stamp = 1'000'000 + static_cast<u64>(at * 1e6);
    if (stamp > last_seen) all.push_back({pid, stamp, sm, 0, 0, 0});
  }
  if (all.empty()) return kNotFound;
  const u32 room = *count;
  *count = static_cast<u32>(all.size());
  if (out == nullptr || room < all.size()) return kTooSmall;
  std::memcpy(out, all.data(), all.size() * sizeof(Use));
  return kOk;
}

// --- MIG

FUNCTION(nvmlDeviceGetMigMode);
EXPORT u32 nvmlDeviceGetMigMode(const void* device, u32* current, u32* pending) {
  const Guard guard(f_nvmlDeviceGetMigMode, device, "mig.mode");
  const u32 code = one_number(guard, "mig.mode", current);
  if (code != kOk) return code;
  return one_number(guard, "mig.mode", pending);
}
NUMBER_CALL(nvmlDeviceGetMaxMigDeviceCount, "mig.max", u32)
NUMBER_CALL(nvmlDeviceGetGpuInstanceId, "gi", u32)
NUMBER_CALL(nvmlDeviceGetComputeInstanceId, "ci", u32)

FUNCTION(nvmlDeviceGetMigDeviceHandleByIndex);
EXPORT u32 nvmlDeviceGetMigDeviceHandleByIndex(const void* device, u32 index, const Handle** out) {
  const Guard guard(f_nvmlDeviceGetMigDeviceHandleByIndex, device, "mig_handle");
  if (guard.code != 0) return guard.code;
  double max = 0, there = 0;
  guard.number("mig.max", max);
  if (out == nullptr || index >= max) return kInvalid;
  guard.number("mig." + std::to_string(index), there);
  if (there == 0) return kNotFound;
  *out = handle_of(guard.handle->device, static_cast<int>(index));
  return kOk;
}

struct Attributes {
  u32 sms, other[5], slices, compute_slices;
  u64 mebibytes;
};
FUNCTION(nvmlDeviceGetAttributes_v2);
EXPORT u32 nvmlDeviceGetAttributes_v2(const void* device, Attributes* out) {
  const Guard guard(f_nvmlDeviceGetAttributes_v2, device, "attributes");
  if (guard.code != 0) return guard.code;
  double slices = 0, sms = 0;
  if (out == nullptr) return kInvalid;
  if (!guard.number("slices", slices) || !guard.number("sms", sms)) return kUnsupported;
  poison(out, sizeof *out);
  out->sms = as_u32(sms);
  out->slices = out->compute_slices = as_u32(slices);
  return kOk;
}

// --- GPM

#if NVML_DOUBLE_LEVEL >= 535
struct GpmSample {
  double seconds = -1;
  std::string device;
};
struct Support {
  u32 version, supported;
};
struct GpmMetric {
  u32 id, code;
  double value;
  const char* texts[3];
};
struct GpmRequest {
  u32 version, count;
  GpmSample *first, *second;
  GpmMetric metrics[333];
};

FUNCTION(nvmlGpmQueryDeviceSupport);
EXPORT u32 nvmlGpmQueryDeviceSupport(const void* device, Support* out) {
  const Guard guard(f_nvmlGpmQueryDeviceSupport, device, "gpm");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  if (out->version != 1) return kWrongVersion;
  double supported = 0;
  guard.number("gpm", supported);
  out->supported = as_u32(supported);
  return kOk;
}
FUNCTION(nvmlGpmSampleAlloc);
EXPORT u32 nvmlGpmSampleAlloc(GpmSample** out) {
  const Guard guard(f_nvmlGpmSampleAlloc, "gpm_alloc");
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  *out = new GpmSample;
  return kOk;
}
FUNCTION(nvmlGpmSampleFree);
EXPORT u32 nvmlGpmSampleFree(GpmSample* sample) {
  const Guard guard(f_nvmlGpmSampleFree, "gpm_free");
  if (sample == nullptr) return kInvalid;
  delete sample;
  return guard.code;
}
FUNCTION(nvmlGpmSampleGet);
EXPORT u32 nvmlGpmSampleGet(const void* device, GpmSample* sample) {
  const Guard guard(f_nvmlGpmSampleGet, device, "gpm_sample");
  if (guard.code != 0) return guard.code;
  if (sample == nullptr) return kInvalid;
  *sample = {seconds(), guard.device};
  return kOk;
}
FUNCTION(nvmlGpmMigSampleGet);
EXPORT u32 nvmlGpmMigSampleGet(const void* device, u32 gpu_instance, GpmSample* sample) {
  const Guard guard(f_nvmlGpmMigSampleGet, device, "gpm_sample");
  if (guard.code != 0) return guard.code;
  if (sample == nullptr || guard.handle->instance >= 0) return kInvalid;
  for (int i = 0; i < 16; ++i) {
    const std::string instance = guard.device + "." + std::to_string(i);
    double gi = -1;
    world().scenario.number(instance, "gi", seconds(), gi);
    if (gi != gpu_instance) continue;
    *sample = {seconds(), instance};
    return kOk;
  }
  return kNotFound;
}
FUNCTION(nvmlGpmMetricsGet);
EXPORT u32 nvmlGpmMetricsGet(GpmRequest* request) {
  const Guard guard(f_nvmlGpmMetricsGet, "gpm_metrics");
  if (guard.code != 0) return guard.code;
  if (request == nullptr || request->first == nullptr || request->second == nullptr) {
    return kInvalid;
  }
  if (request->version != 1) return kWrongVersion;
  if (request->first->seconds < 0 || request->first == request->second) return kInvalid;
  if (request->second->seconds - request->first->seconds < 0.1) return kNotReady;
  for (u32 i = 0; i < request->count; ++i) {
    GpmMetric& metric = request->metrics[i];
    const std::string key = "gpm." + std::to_string(metric.id);
    double value = 0;
    metric.code = world().scenario.number(request->second->device, key, seconds(), value)
                      ? kOk
                      : kUnsupported;
    if (metric.code == kOk) metric.value = value;
  }
  return kOk;
}
#endif
