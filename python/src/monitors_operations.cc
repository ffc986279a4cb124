// Named operations with their time and memory, and the operation that prints itself.
#include <genscope/compat/performance_monitor.h>

#include <utility>

#include "monitors.h"

namespace genscope::python {
namespace {

struct Monitor {
  bool release = false;  // the reader asks a GPU
  std::shared_ptr<MemoryReader> memory;
  std::shared_ptr<PerformanceMonitor> monitor;
};
using OperationMonitorObject = Holder<Monitor>;

// One `with`; may be entered again once it has ended.
struct Tracked {
  bool release = false;
  bool aggregate = false;
  std::string name;
  std::shared_ptr<PerformanceMonitor> monitor;
  std::unique_ptr<Operation> running;
};
using TrackedObject = Holder<Tracked>;
PyTypeObject* g_tracked = nullptr;

PyObject* operation_monitor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"enabled", "device", "read", "reset", "max_records", nullptr};
  int enabled = 1, device = 0;
  unsigned long long records = PerformanceMonitorOptions{}.max_records;
  PyObject *read = nullptr, *reset = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$piOOK", const_cast<char**>(names), &enabled,
                                  &device, &read, &reset, &records) == 0) {
    return nullptr;
  }
  PerformanceMonitorOptions options;
  options.enabled = enabled != 0;
  options.device = device;
  options.max_records = records;
  if (options.enabled) options.memory = memory_of(read, reset, device);
  const bool gpu = options.memory != nullptr && options.memory->has_gpu();
  std::shared_ptr<MemoryReader> memory = options.memory;
  return OperationMonitorObject::make(type, gpu, std::move(memory),
                                      std::make_shared<PerformanceMonitor>(std::move(options)));
}

PyObject* monitor_track(PyObject* self, PyObject* args) {
  PyObject* name = nullptr;
  int aggregate = 0;
  std::string_view text;
  if (PyArg_ParseTuple(args, "U|p", &name, &aggregate) == 0 || !text_of(name, text)) return nullptr;
  const Monitor& monitor = OperationMonitorObject::of(self);
  return TrackedObject::make(g_tracked, monitor.release, aggregate != 0, std::string(text),
                             monitor.monitor, nullptr);
}

PyObject* tracked_enter(PyObject* object, PyObject*) {
  Tracked& self = TrackedObject::of(object);
  if (self.running != nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this operation runs already; track() gives another");
    return nullptr;
  }
  {
    const Released released(self.release);
    self.running.reset(new Operation(self.monitor->track(self.name, self.aggregate)));
  }
  Py_INCREF(object);
  return object;
}

PyObject* tracked_exit(PyObject* object, PyObject* args) {
  Tracked& self = TrackedObject::of(object);
  const bool failed = PyTuple_Size(args) > 0 && PyTuple_GetItem(args, 0) != Py_None;
  if (self.running != nullptr) {
    const Released released(self.release);
    failed ? self.running->fail() : self.running->end();
    self.running.reset();
  }
  return none();
}

// Texts and figures of all operations.
template <class Make>
PyObject* text_from(PyObject* self, Make&& make) {
  std::string text;
  {
    const WithoutGil released;
    text = make(*OperationMonitorObject::of(self).monitor);
  }
  return to_str(text);
}
PyObject* operation_monitor_summary(PyObject* self, PyObject* args) {
  int aggregate = 1, full = 0;
  if (PyArg_ParseTuple(args, "|pp", &aggregate, &full) == 0) return nullptr;
  return text_from(self, [&](const PerformanceMonitor& monitor) {
    return monitor.summary(aggregate != 0, full != 0 ? SummaryStyle::full : SummaryStyle::document);
  });
}
PyObject* monitor_json(PyObject* self, PyObject*) {
  return text_from(self, [](const PerformanceMonitor& monitor) { return monitor.to_json(); });
}
PyObject* monitor_csv(PyObject* self, PyObject*) {
  return text_from(self, [](const PerformanceMonitor& monitor) { return monitor.to_csv(); });
}
PyObject* monitor_reason(PyObject* self, PyObject*) {
  return text_from(self, [](const PerformanceMonitor& monitor) { return monitor.gpu_reason(); });
}
PyObject* total_time(PyObject* self, PyObject*) {
  double seconds = 0;
  {
    const WithoutGil released;
    seconds = OperationMonitorObject::of(self).monitor->get_total_time();
  }
  return PyFloat_FromDouble(seconds);
}
PyObject* operation_time(PyObject* self, PyObject* name) {
  std::string_view text;
  if (!text_of(name, text)) return nullptr;
  std::optional<double> seconds;
  {
    const WithoutGil released;
    seconds = OperationMonitorObject::of(self).monitor->get_operation_time(text);
  }
  return to_float(seconds);
}
PyObject* operation_monitor_clear(PyObject* self, PyObject*) {
  {
    const WithoutGil released;
    OperationMonitorObject::of(self).monitor->clear();
  }
  return none();
}
// memory() -> (cpu, used, reserved, peak): bytes now, None for what is not known.
PyObject* monitor_memory(PyObject* self, PyObject*) {
  const Monitor& monitor = OperationMonitorObject::of(self);
  std::optional<std::uint64_t> cpu;
  GpuMemory gpu;
  if (monitor.memory != nullptr) {
    const WithoutGil released;
    cpu = monitor.memory->cpu_bytes();
    if (monitor.memory->has_gpu()) gpu = monitor.memory->gpu();
  }
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? PyLong_FromUnsignedLongLong(*value) : none();
  };
  return Py_BuildValue("(NNNN)", number(cpu), number(gpu.used_bytes), number(gpu.reserved_bytes),
                       number(gpu.peak_bytes));
}

// --- one operation on its own

struct Once {
  bool release = false;
  std::shared_ptr<std::string> text = std::make_shared<std::string>();
  std::unique_ptr<TrackedOperation> running;
};
using OnceObject = Holder<Once>;

PyObject* once_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"operation", "device", "read", "reset", nullptr};
  PyObject *name = nullptr, *read = nullptr, *reset = nullptr;
  int device = 0;
  std::string_view operation;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "U|$iOO", const_cast<char**>(names), &name,
                                  &device, &read, &reset) == 0 ||
      !text_of(name, operation)) {
    return nullptr;
  }
  Ref object(OnceObject::make(type));
  if (!object) return nullptr;
  Once& self = OnceObject::of(object.get());
  TrackOptions options;
  options.device = device;
  options.memory = memory_of(read, reset, device);
  options.out = [text = self.text](std::string_view piece) { text->append(piece); };
  self.release = options.memory->has_gpu();
  {
    const Released released(self.release);
    self.running = std::make_unique<TrackedOperation>(operation, std::move(options));
  }
  return object.release();
}

// end(failed=False, /) -> str: what it prints; "" when it has ended before.
PyObject* once_end(PyObject* object, PyObject* args) {
  Once& self = OnceObject::of(object);
  int failed = 0;
  if (PyArg_ParseTuple(args, "|p", &failed) == 0) return nullptr;
  {
    const Released released(self.release);
    std::unique_ptr<TrackedOperation> running = std::move(self.running);
    if (running != nullptr && failed != 0) {
      // It fails as in C++: an exception leaves its scope.
      struct Failed {};
      try {
        const std::unique_ptr<TrackedOperation> scope = std::move(running);
        throw Failed{};
      } catch (const Failed&) {
      }
    }
  }
  return to_str(std::exchange(*self.text, {}));
}

Method operation_monitor_methods[] = {
    recording<monitor_track, Drop<give_nothing, 1, 0>>("track", METH_VARARGS,
                                                       "track(operation, aggregate=False, /)"),
    reading<operation_monitor_summary>("summary", METH_VARARGS,
                                       "summary(show_aggregate=True, full=False, /)"),
    reading<monitor_json>("to_json", METH_NOARGS),
    reading<monitor_csv>("to_csv", METH_NOARGS),
    reading<monitor_reason>("gpu_reason", METH_NOARGS, "Why GPU figures are absent."),
    reading<total_time>("total_time", METH_NOARGS),
    reading<operation_time>("operation_time", METH_O),
    recording<operation_monitor_clear>("clear", METH_NOARGS),
    reading<monitor_memory>("memory", METH_NOARGS,
                            "(cpu, used, reserved, peak) in bytes, or None."),
    {},
};
Method tracked_methods[] = {
    recording<tracked_enter, Drop<give_self, 1, 0>>("__enter__", METH_NOARGS),
    recording<tracked_exit>("__exit__", METH_VARARGS),
    {},
};
Method once_methods[] = {
    recording<once_end, Drop<give_no_text, 0, 1>>("end", METH_VARARGS,
                                                  "end(failed=False, /) -> str"),
    {},
};
Slot operation_monitor_slots[] = {
    Slot::made<operation_monitor_new, OperationMonitorObject>(),
    Slot::dealloc<OperationMonitorObject::dealloc>(),
    Slot(operation_monitor_methods),
    {},
};
Slot tracked_slots[] = {
    Slot::dealloc<TrackedObject::dealloc>(),
    Slot(tracked_methods),
    {},
};
Slot once_slots[] = {
    Slot::made<once_new, OnceObject>(),
    Slot::dealloc<OnceObject::dealloc>(),
    Slot(once_methods),
    {},
};
constexpr TypeSpec operation_monitor_spec = {
    "genscope._core.OperationMonitor", sizeof(OperationMonitorObject), operation_monitor_slots};
constexpr TypeSpec tracked_spec = {"genscope._core.TrackedOperation", sizeof(TrackedObject),
                                   tracked_slots, kMadeHere};
constexpr TypeSpec once_spec = {"genscope._core.OneOperation", sizeof(OnceObject), once_slots};

}  // namespace

bool add_operation_monitor(PyObject* module) {
  g_tracked = make_type(module, tracked_spec);
  return g_tracked != nullptr && add_type(module, operation_monitor_spec, "OperationMonitor") &&
         add_type(module, once_spec, "OneOperation");
}

}  // namespace genscope::python
