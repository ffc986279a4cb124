// A double of libcuda.so.1 and of libamdhip64.so: the functions of both that time spans, with the
// drivers' own signatures and codes. Behaviour is in model.cc, the script in control.h.
#include "control.h"
#include "model.h"

#define DOUBLE_API extern "C" __attribute__((visibility("default")))

using namespace driver_double;

// --- CUDA

DOUBLE_API int cuInit(unsigned) { return kSuccess; }
DOUBLE_API int cuDriverGetVersion(int* version) {
  *version = 12080;
  return kSuccess;
}
DOUBLE_API int cuGetErrorString(int code, const char** text) {
  *text = code == kDestroyed ? "context is destroyed"
          : code == 4        ? "driver shutting down"
                             : "error";
  return kSuccess;
}
DOUBLE_API int cuCtxGetCurrent(void** context) {
  *context = reinterpret_cast<void*>(t_context);
  return kSuccess;
}
DOUBLE_API int cuCtxSetCurrent(void* context) {
  return enter(reinterpret_cast<std::uint64_t>(context));
}
DOUBLE_API int cuCtxSynchronize() { return synchronize(); }
DOUBLE_API int cuStreamSynchronize(void*) { return synchronize(); }
DOUBLE_API int cuEventSynchronize(void*) { return synchronize(); }
DOUBLE_API int cuEventCreate(void** event, unsigned) { return event_create(event); }
DOUBLE_API int cuEventDestroy_v2(void* event) { return event_destroy(event); }
DOUBLE_API int cuEventRecord(void* event, void* stream) { return event_record(event, stream); }
DOUBLE_API int cuEventQuery(void* event) { return event_query(event); }
DOUBLE_API int cuEventElapsedTime(float* ms, void* a, void* b) { return event_elapsed(ms, a, b); }
DOUBLE_API int cuStreamCreate(void** stream, unsigned) { return stream_create(stream); }
DOUBLE_API int cuStreamDestroy_v2(void* stream) { return stream_destroy(stream); }
DOUBLE_API int cuStreamIsCapturing(void* stream, int* status) {
  return stream_is_capturing(stream, status);
}
DOUBLE_API int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, t_capture_mode);
  return kSuccess;
}

// --- HIP: a device is the context of that number + 1

DOUBLE_API int hipDriverGetVersion(int* version) {
  *version = 60300000;
  return kSuccess;
}
DOUBLE_API const char* hipGetErrorString(int) { return "hip error"; }
DOUBLE_API int hipGetDevice(int* device) {
  if (t_context == 0) t_context = 1;
  *device = static_cast<int>(t_context) - 1;
  return kSuccess;
}
DOUBLE_API int hipSetDevice(int device) { return enter(static_cast<std::uint64_t>(device) + 1); }
DOUBLE_API int hipDeviceSynchronize() { return synchronize(); }
DOUBLE_API int hipStreamSynchronize(void*) { return synchronize(); }
DOUBLE_API int hipEventCreateWithFlags(void** event, unsigned) { return event_create(event); }
DOUBLE_API int hipEventDestroy(void* event) { return event_destroy(event); }
DOUBLE_API int hipEventRecord(void* event, void* stream) { return event_record(event, stream); }
DOUBLE_API int hipEventQuery(void* event) { return event_query(event); }
DOUBLE_API int hipEventElapsedTime(float* ms, void* a, void* b) { return event_elapsed(ms, a, b); }
DOUBLE_API int hipStreamCreateWithFlags(void** stream, unsigned) { return stream_create(stream); }
DOUBLE_API int hipStreamDestroy(void* stream) { return stream_destroy(stream); }
DOUBLE_API int hipStreamIsCapturing(void* stream, int* status) {
  return stream_is_capturing(stream, status);
}
DOUBLE_API int hipThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, t_capture_mode);
  return kSuccess;
}

// --- the script

#define WITH_MODEL    \
  Model& m = model(); \
  const std::lock_guard lock(m.mutex)

DOUBLE_API void double_reset() {
  WITH_MODEL;
  m.clear();
}
DOUBLE_API void double_set_context(std::uint64_t context) { t_context = context; }
DOUBLE_API void double_destroy_context(std::uint64_t context) {
  WITH_MODEL;
  m.destroyed.insert(context);
}
DOUBLE_API void double_launch(std::uint64_t stream, std::int64_t ns) {
  WITH_MODEL;
  m.stream(t_context, stream).device_ns += ns;
}
DOUBLE_API void double_set_late(int queries) {
  WITH_MODEL;
  m.late = queries;
}
DOUBLE_API void double_set_anchor_late(int queries) {
  WITH_MODEL;
  m.anchor_late = queries;
}
DOUBLE_API void double_set_clock(double parts_per_million, std::int64_t offset_ns) {
  WITH_MODEL;
  m.ppm = parts_per_million;
  m.offset_ns = offset_ns;
}
DOUBLE_API void double_set_host_clock(std::int64_t (*now_ns)()) {
  WITH_MODEL;
  m.host_clock = now_ns;
}
DOUBLE_API void double_set_capturing(std::uint64_t stream, int on) {
  WITH_MODEL;
  on != 0 ? static_cast<void>(m.capturing.insert(stream))
          : static_cast<void>(m.capturing.erase(stream));
}
DOUBLE_API void double_fail(const char* call, int code, int nth) {
  WITH_MODEL;
  m.failures[call] = {code, nth};
}
DOUBLE_API std::int64_t double_mistakes() {
  WITH_MODEL;
  return m.mistakes;
}
DOUBLE_API const char* double_last_mistake() {
  WITH_MODEL;
  return m.last_mistake.c_str();
}
DOUBLE_API std::int64_t double_live_events() {
  WITH_MODEL;
  return static_cast<std::int64_t>(m.events.size());
}
DOUBLE_API std::int64_t double_live_streams() {
  WITH_MODEL;
  return static_cast<std::int64_t>(m.made_streams.size());
}
DOUBLE_API std::int64_t double_calls(const char* call) {
  WITH_MODEL;
  return m.calls[call];
}
DOUBLE_API std::int64_t double_synchronizes() {
  WITH_MODEL;
  return m.synchronizes;
}
