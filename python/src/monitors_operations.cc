// Named operations with their time and memory, and the operation that prints itself.
#include <genscope/performance_monitor.h>

#include <utility>

#include "monitors.h"

namespace genscope::python {
namespace {

struct Monitor {
  bool release = false;  // the reader asks a GPU
  std::shared_ptr<MemoryReader> memory;
  std::shared_ptr<PerformanceMonitor> monitor;
};
using MonitorObject = Holder<Monitor>;

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

PyObject* monitor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
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
  return MonitorObject::make(type, gpu, std::move(memory),
                             std::make_shared<PerformanceMonitor>(std::move(options)));
}

PyObject* monitor_track(PyObject* self, PyObject* args) {
  PyObject* name = nullptr;
  int aggregate = 0;
  std::string_view text;
  if (PyArg_ParseTuple(args, "U|p", &name, &aggregate) == 0 || !text_of(name, text)) return nullptr;
  const Monitor& monitor = MonitorObject::of(self);
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
    self.running = std::make_unique<Operation>(self.monitor->track(self.name, self.aggregate));
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
    text = make(*MonitorObject::of(self).monitor);
  }
  return to_str(text);
}
PyObject* monitor_summary(PyObject* self, PyObject* args) {
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
    seconds = MonitorObject::of(self).monitor->get_total_time();
  }
  return PyFloat_FromDouble(seconds);
}
PyObject* operation_time(PyObject* self, PyObject* name) {
  std::string_view text;
  if (!text_of(name, text)) return nullptr;
  std::optional<double> seconds;
  {
    const WithoutGil released;
    seconds = MonitorObject::of(self).monitor->get_operation_time(text);
  }
  return to_float(seconds);
}
PyObject* monitor_clear(PyObject* self, PyObject*) {
  {
    const WithoutGil released;
    MonitorObject::of(self).monitor->clear();
  }
  return none();
}
// memory() -> (cpu, used, reserved, peak): bytes now, None for what is not known.
PyObject* monitor_memory(PyObject* self, PyObject*) {
  const Monitor& monitor = MonitorObject::of(self);
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
  PyObject* const object = OnceObject::make(type);
  if (object == nullptr) return nullptr;
  Once& self = OnceObject::of(object);
  TrackOptions options;
  options.device = device;
  options.memory = memory_of(read, reset, device);
  options.out = [text = self.text](std::string_view piece) { text->append(piece); };
  self.release = options.memory->has_gpu();
  const Released released(self.release);
  self.running = std::make_unique<TrackedOperation>(operation, std::move(options));
  return object;
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

PyMethodDef monitor_methods[] = {
    {"track", monitor_track, METH_VARARGS, "track(operation, aggregate=False, /)"},
    {"summary", monitor_summary, METH_VARARGS, "summary(show_aggregate=True, full=False, /)"},
    {"to_json", monitor_json, METH_NOARGS, nullptr},
    {"to_csv", monitor_csv, METH_NOARGS, nullptr},
    {"gpu_reason", monitor_reason, METH_NOARGS, "Why GPU figures are absent."},
    {"total_time", total_time, METH_NOARGS, nullptr},
    {"operation_time", operation_time, METH_O, nullptr},
    {"clear", monitor_clear, METH_NOARGS, nullptr},
    {"memory", monitor_memory, METH_NOARGS, "(cpu, used, reserved, peak) in bytes, or None."},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef tracked_methods[] = {
    {"__enter__", tracked_enter, METH_NOARGS, nullptr},
    {"__exit__", tracked_exit, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef once_methods[] = {
    {"end", once_end, METH_VARARGS, "end(failed=False, /) -> str"},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot monitor_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(monitor_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(MonitorObject::dealloc)},
    {Py_tp_methods, monitor_methods},
    {0, nullptr},
};
PyType_Slot tracked_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(TrackedObject::dealloc)},
    {Py_tp_methods, tracked_methods},
    {0, nullptr},
};
PyType_Slot once_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(once_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(OnceObject::dealloc)},
    {Py_tp_methods, once_methods},
    {0, nullptr},
};
PyType_Spec monitor_spec = {"genscope._core.OperationMonitor", sizeof(MonitorObject), 0,
                            Py_TPFLAGS_DEFAULT, monitor_slots};
PyType_Spec tracked_spec = {"genscope._core.TrackedOperation", sizeof(TrackedObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, tracked_slots};
PyType_Spec once_spec = {"genscope._core.OneOperation", sizeof(OnceObject), 0, Py_TPFLAGS_DEFAULT,
                         once_slots};

}  // namespace

bool add_operation_monitor(PyObject* module) {
  PyObject* const monitor = PyType_FromModuleAndSpec(module, &monitor_spec, nullptr);
  PyObject* const once = PyType_FromModuleAndSpec(module, &once_spec, nullptr);
  g_tracked =
      reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &tracked_spec, nullptr));
  return monitor != nullptr && once != nullptr && g_tracked != nullptr &&
         PyModule_AddObject(module, "OperationMonitor", monitor) == 0 &&
         PyModule_AddObject(module, "OneOperation", once) == 0;
}

}  // namespace genscope::python
