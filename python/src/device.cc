// Device time of spans: the DeviceTimer of genscope/record.h around the spans that a GPU takes part
// in.
//
// A Python function tells the stream of the moment, or that there is none to be used now. It is
// called with the GIL around stages, steps, forwards, requests and batches, never around others.
#include <genscope/record.h>

#include <memory>
#include <mutex>
#include <unordered_set>

#include "entry.h"
#include "span.h"

namespace genscope::python {
namespace {

// Made once and never destroyed: other threads may be in it. Its timer may be stopped.
DeviceTimer* g_timer = nullptr;
PyObject* g_stream = nullptr;     // () -> int, negative: not now
PyObject* g_stage_end = nullptr;  // (id) -> None, or null
std::mutex g_stages_mutex;
std::unordered_set<std::uint64_t> g_stages;  // those that are open

bool is_timed(SpanKind kind) noexcept {
  switch (kind) {
    case SpanKind::stage:
    case SpanKind::step:
    case SpanKind::forward:
    case SpanKind::request:
    case SpanKind::batch:
      return true;
    default:
      return false;
  }
}

bool stream_now(std::uint64_t& stream) noexcept {
  const Ref value(PyObject_CallObject(g_stream, nullptr));
  const long long number = value ? PyLong_AsLongLong(value.get()) : -1;
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
  stream = static_cast<std::uint64_t>(number);
  return number >= 0;
}

void on_begin(std::uint64_t id, SpanKind kind) noexcept {
  if (!is_timed(kind) || g_stream == nullptr) return;
  const Aside aside;
  if (kind == SpanKind::stage && g_stage_end != nullptr) {
    const std::lock_guard lock(g_stages_mutex);
    try {
      if (g_stages.size() < 10'000 && internal::may_throw()) g_stages.insert(id);
    } catch (...) {  // its end is not told
    }
  }
  std::uint64_t stream = 0;
  if (g_timer != nullptr && g_timer->active() && stream_now(stream)) {
    g_timer->begin(Handle(id), stream);
  }
}

// By its id alone: end() by hand does not know the kind.
void on_end(std::uint64_t id, SpanKind kind) noexcept {
  if (!is_timed(kind) || g_stream == nullptr) return;
  const Aside aside;
  std::uint64_t stream = 0;
  if (g_timer != nullptr && g_timer->active() && stream_now(stream)) {
    g_timer->end(Handle(id), stream);
  }
  {
    const std::lock_guard lock(g_stages_mutex);
    if (g_stages.erase(id) == 0) return;
  }
  if (g_stage_end == nullptr) return;
  const Ref number(PyLong_FromUnsignedLongLong(id));
  const Ref done(number ? PyObject_CallFunctionObjArgs(g_stage_end, number.get(), nullptr)
                        : nullptr);
  if (PyErr_Occurred() != nullptr) PyErr_Clear();
}

void switch_off() noexcept {
  g_on_begin = nullptr;
  g_on_end = nullptr;
  if (g_timer == nullptr) return;
  const WithoutGil released;
  g_timer->stop();
}

PyObject* switch_on(DeviceApi api, PyObject* stream, PyObject* stage_end) {
  if (g_timer == nullptr || !g_timer->active()) {
    Result<std::unique_ptr<DeviceTimer>> timer = DeviceTimer::start({.api = api});
    if (!timer) return raise(timer.error());
    g_timer = timer->release();
  }
  Py_INCREF(stream);
  g_stream = stream;
  Py_INCREF(stage_end);
  g_stage_end = stage_end == Py_None ? nullptr : stage_end;
  g_on_begin = on_begin;
  g_on_end = on_end;
  return none();
}

// device_timing(api, stream=None, stage_end=None, /): api "cuda", "hip" or "" to end it.
PyObject* device_timing(PyObject*, PyObject* args) {
  const char* api = nullptr;
  PyObject *stream = Py_None, *stage_end = Py_None;
  if (PyArg_ParseTuple(args, "s|OO", &api, &stream, &stage_end) == 0) return nullptr;
  const std::string_view name = api;
  if (name.empty()) {
    switch_off();
    return none();
  }
  if (name != "cuda" && name != "hip") {
    PyErr_SetString(PyExc_ValueError, "device_timing: the driver is 'cuda' or 'hip'");
    return nullptr;
  }
  if (PyCallable_Check(stream) == 0 || (stage_end != Py_None && PyCallable_Check(stage_end) == 0)) {
    PyErr_SetString(PyExc_TypeError, "device_timing(api, stream function, stage_end function)");
    return nullptr;
  }
  return switch_on(name == "cuda" ? DeviceApi::cuda : DeviceApi::hip, stream, stage_end);
}

PyObject* device_timing_stats(PyObject*, PyObject*) {
  if (g_timer == nullptr) return none();
  const DeviceTimerStats s = g_timer->stats();
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  return Py_BuildValue(
      "{s:O,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:s}", "active", g_timer->active() ? Py_True : Py_False,
      "resolved", number(s.resolved), "pending", number(s.pending), "no_event", number(s.no_event),
      "no_context", number(s.no_context), "capturing", number(s.capturing), "moved",
      number(s.moved), "refused", number(s.refused), "left", number(s.left), "off", s.off.c_str());
}

Method device_functions[] = {
    reading<device_timing>(
        "device_timing", METH_VARARGS,
        "device_timing(api, stream=None, stage_end=None, /): 'cuda', 'hip', or '' to end it."),
    reading<device_timing_stats>("device_timing_stats", METH_NOARGS,
                                 "device_timing_stats() -> dict, or None if it was never on."),
    {},
};

}  // namespace

void settle_device_time() noexcept {
  if (g_timer != nullptr) g_timer->settle();
}

bool add_device(PyObject* module) { return add_functions(module, device_functions); }

}  // namespace genscope::python
