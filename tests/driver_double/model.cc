#include "model.h"

#include <ctime>

namespace driver_double {

thread_local std::uint64_t t_context = 0;
thread_local int t_capture_mode = 0;

Model& model() {
  static Model* const the_model = new Model;
  return *the_model;
}

void Model::clear() {
  events.clear();
  made_streams.clear();
  streams.clear();
  destroyed.clear();
  capturing.clear();
  failures.clear();
  calls.clear();
  late = anchor_late = 0;
  ppm = 0;
  offset_ns = 0;
  host_clock = nullptr;
  mistakes = synchronizes = 0;
  last_mistake.clear();
}

std::int64_t Model::device_now() const {
  std::int64_t host = 0;
  if (host_clock != nullptr) {
    host = host_clock();
  } else {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    host = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }
  return host + static_cast<std::int64_t>(static_cast<double>(host) * (ppm / 1e6)) + offset_ns;
}

int Model::mistake(const char* what, int code) {
  ++mistakes;
  last_mistake = what;
  return code;
}

int Model::script(const char* call) {
  ++calls[call];
  const auto found = failures.find(call);
  if (found == failures.end()) return kSuccess;
  if (found->second.after > 1) {
    --found->second.after;
    return kSuccess;
  }
  return found->second.code;
}

StreamState& Model::stream(std::uint64_t context, std::uint64_t handle) {
  const auto made = made_streams.find(reinterpret_cast<void*>(handle));
  if (made != made_streams.end()) {
    made->second.device_ns = device_now();
    return made->second;
  }
  StreamState& state = streams[{context, handle}];
  if (state.device_ns < 0) state.device_ns = device_now();
  state.context = context;
  return state;
}

namespace {

// The context that the calling thread is in, or why it cannot be used.
int usable(Model& m) {
  if (t_context == 0) return m.mistake("a call without a current context", kInvalidContext);
  return m.destroyed.contains(t_context) ? kDestroyed : kSuccess;
}

}  // namespace

int event_create(void** event) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  if (const int code = m.script("event_create")) return code;
  if (const int code = usable(m)) return code;
  *event = reinterpret_cast<void*>(m.next += 16);
  m.events[*event].context = t_context;
  return kSuccess;
}

int event_destroy(void* event) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  m.script("event_destroy");
  return m.events.erase(event) == 1 ? kSuccess
                                    : m.mistake("an event destroyed twice", kInvalidHandle);
}

int event_record(void* event, void* stream) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  if (const int code = m.script("event_record")) return code;
  if (const int code = usable(m)) return code;
  const auto found = m.events.find(event);
  if (found == m.events.end()) return m.mistake("no such event to record", kInvalidHandle);
  if (found->second.context != t_context) {
    return m.mistake("an event of another context recorded", kInvalidHandle);
  }
  const auto handle = reinterpret_cast<std::uint64_t>(stream);
  if (m.capturing.contains(handle)) {
    return m.mistake("recorded into a stream that is captured", kCaptureUnsupported);
  }
  const bool made = m.made_streams.contains(stream);
  StreamState& state = m.stream(t_context, handle);
  if (state.context != t_context) return m.mistake("a stream of another context", kInvalidHandle);
  found->second.device_ns = state.device_ns;
  found->second.queries_left = made ? m.anchor_late : m.late;
  found->second.stream = handle;
  found->second.order = ++m.recorded;
  return kSuccess;
}

int event_query(void* event) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  if (const int code = m.script("event_query")) return code;
  if (const int code = usable(m)) return code;
  if (!m.capturing.empty() && t_capture_mode != 2) {
    return m.mistake("a query that breaks a capture", kCaptureUnsupported);
  }
  const auto found = m.events.find(event);
  if (found == m.events.end()) return m.mistake("no such event to query", kInvalidHandle);
  EventState& state = found->second;
  if (state.queries_left != 0) {
    if (state.queries_left > 0) --state.queries_left;
    return kNotReady;
  }
  for (auto& [other, earlier] : m.events) {  // what came before it in its stream is ready, too
    const bool before = earlier.context == state.context && earlier.stream == state.stream &&
                        earlier.order < state.order;
    if (before) earlier.queries_left = 0;
  }
  return kSuccess;
}

int event_elapsed(float* milliseconds, void* begin, void* end) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  if (const int code = m.script("event_elapsed")) return code;
  const auto a = m.events.find(begin), b = m.events.find(end);
  if (a == m.events.end() || b == m.events.end()) {
    return m.mistake("no such event to read", kInvalidHandle);
  }
  if (a->second.context != b->second.context) {
    return m.mistake("time between two contexts", kInvalidHandle);
  }
  if (a->second.device_ns < 0 || b->second.device_ns < 0) return kInvalidHandle;
  if (a->second.queries_left != 0 || b->second.queries_left != 0) return kNotReady;
  *milliseconds =
      static_cast<float>(static_cast<double>(b->second.device_ns - a->second.device_ns) / 1e6);
  return kSuccess;
}

int stream_create(void** stream) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  if (const int code = usable(m)) return code;
  *stream = reinterpret_cast<void*>(m.next += 16);
  m.made_streams[*stream].context = t_context;
  return kSuccess;
}

int stream_destroy(void* stream) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  return m.made_streams.erase(stream) == 1
             ? kSuccess
             : m.mistake("a stream destroyed that was not made", kInvalidHandle);
}

int stream_is_capturing(void* stream, int* status) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  m.script("stream_is_capturing");
  *status = m.capturing.contains(reinterpret_cast<std::uint64_t>(stream)) ? 1 : 0;
  return kSuccess;
}

int enter(std::uint64_t context) {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  if (const int code = m.script("enter")) return code;
  if (m.destroyed.contains(context)) return kDestroyed;
  t_context = context;
  return kSuccess;
}

int synchronize() {
  Model& m = model();
  const std::lock_guard lock(m.mutex);
  ++m.synchronizes;
  return kSuccess;
}

}  // namespace driver_double
