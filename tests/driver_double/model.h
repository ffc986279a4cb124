// The device behind the double: contexts, streams with their clocks, events.
//
// A program's stream has a clock that stands still but for double_launch(): the time between two of
// its events is what was launched between them, to the nanosecond. It starts at the device's clock
// when the stream is first used. A stream that the caller made has the device's clock: its events
// happen when they are recorded.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace driver_double {

inline constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidContext = 201, kInvalidHandle = 400,
                     kNotReady = 600, kDestroyed = 709, kCaptureUnsupported = 900;

struct EventState {
  std::uint64_t context = 0;
  std::int64_t device_ns = -1;  // -1: never recorded
  int queries_left = 0;         // -1: never ready
  std::uint64_t stream = 0, order = 0;
};
struct StreamState {
  std::uint64_t context = 0;  // of those that the caller made
  std::int64_t device_ns = -1;
};
struct Failure {
  int code = 0, after = 0;
};

struct Model {
  std::mutex mutex;
  std::map<void*, EventState> events;
  std::map<void*, StreamState> made_streams;
  std::map<std::pair<std::uint64_t, std::uint64_t>, StreamState> streams;  // context, handle
  std::set<std::uint64_t> destroyed, capturing;
  std::map<std::string, Failure> failures;
  std::map<std::string, std::int64_t> calls;
  std::uintptr_t next = 0x1000;
  std::uint64_t recorded = 0;
  int late = 0, anchor_late = 0;
  double ppm = 0;
  std::int64_t offset_ns = 0;
  std::int64_t (*host_clock)() = nullptr;
  std::int64_t mistakes = 0, synchronizes = 0;
  std::string last_mistake;

  void clear();
  std::int64_t device_now() const;
  int mistake(const char* what, int code);
  // The scripted code of this call, or 0.
  int script(const char* call);
  StreamState& stream(std::uint64_t context, std::uint64_t handle);
};
Model& model();

extern thread_local std::uint64_t t_context;
extern thread_local int t_capture_mode;  // 0 global, 1 thread local, 2 relaxed

// The calls, the same for both drivers.
int event_create(void** event);
int event_destroy(void* event);
int event_record(void* event, void* stream);
int event_query(void* event);
int event_elapsed(float* milliseconds, void* begin, void* end);
int stream_create(void** stream);
int stream_destroy(void* stream);
int stream_is_capturing(void* stream, int* status);
int enter(std::uint64_t context);
int synchronize();

}  // namespace driver_double
