// The batches and epochs of a training loop. What is printed comes back as text: Python prints it,
// so that a redirected sys.stdout gets it.
#include <genscope/epoch_monitor.h>

#include <utility>

#include "monitors.h"

namespace genscope::python {
namespace {

struct Epochs {
  bool release = false;  // the reader asks a GPU
  std::shared_ptr<std::string> text = std::make_shared<std::string>();
  std::unique_ptr<EpochPerformanceMonitor> monitor;
};
using Object = Holder<Epochs>;

PyObject* epochs_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"enabled",        "verbose_batches",   "device", "read", "reset",
                                "warmup_batches", "samples_per_batch", nullptr};
  int enabled = 1, device = 0;
  unsigned long long verbose = 5, warmup = 1, samples = 0;
  PyObject *read = nullptr, *reset = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$pKiOOKK", const_cast<char**>(names), &enabled,
                                  &verbose, &device, &read, &reset, &warmup, &samples) == 0) {
    return nullptr;
  }
  PyObject* const object = Object::make(type);
  if (object == nullptr) return nullptr;
  Epochs& self = Object::of(object);
  EpochMonitorOptions options;
  options.enabled = enabled != 0;
  options.verbose_batches = verbose;
  options.device = device;
  options.warmup_batches = warmup;
  options.samples_per_batch = samples;
  if (options.enabled) {
    options.memory = memory_of(read, reset, device);
    self.release = options.memory->has_gpu();
  }
  options.out = [text = self.text](std::string_view piece) { text->append(piece); };
  self.monitor = std::make_unique<EpochPerformanceMonitor>(std::move(options));
  return object;
}

// Runs `call` and gives what it printed, None for nothing.
template <class Call>
PyObject* printed(PyObject* object, Call&& call) {
  Epochs& self = Object::of(object);
  {
    const Released released(self.release);
    call(*self.monitor);
  }
  if (self.text->empty()) return none();
  return to_str(std::exchange(*self.text, {}));
}

PyObject* epoch_start(PyObject* self, PyObject*) {
  return printed(self, [](EpochPerformanceMonitor& monitor) { monitor.on_epoch_start(); });
}
PyObject* epoch_end(PyObject* self, PyObject*) {
  return printed(self, [](EpochPerformanceMonitor& monitor) { monitor.on_epoch_end(); });
}
PyObject* batch_start(PyObject* self, PyObject* index) {
  const unsigned long long batch = PyLong_AsUnsignedLongLong(index);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return printed(self, [&](EpochPerformanceMonitor& monitor) { monitor.on_batch_start(batch); });
}
PyObject* batch_end(PyObject* self, PyObject* args) {
  unsigned long long batch = 0, samples = 0;
  PyObject* given = Py_None;
  if (PyArg_ParseTuple(args, "K|OK", &batch, &given, &samples) == 0) return nullptr;
  std::optional<double> loss;
  if (given != Py_None) {
    loss = PyFloat_AsDouble(given);
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  return printed(
      self, [&](EpochPerformanceMonitor& monitor) { monitor.on_batch_end(batch, loss, samples); });
}
PyObject* statistics(PyObject* self, PyObject*) {
  std::string json;
  {
    const WithoutGil released;
    json = Object::of(self).monitor->get_statistics().to_json();
  }
  return to_str(json);
}
PyObject* forget_all(PyObject* self, PyObject*) {
  return printed(self, [](EpochPerformanceMonitor& monitor) { monitor.reset(); });
}

PyMethodDef methods[] = {
    {"epoch_start", epoch_start, METH_NOARGS, nullptr},
    {"epoch_end", epoch_end, METH_NOARGS, "What it prints, or None."},
    {"batch_start", batch_start, METH_O, nullptr},
    {"batch_end", batch_end, METH_VARARGS, "batch_end(index, loss=None, samples=0)"},
    {"statistics", statistics, METH_NOARGS, "JSON."},
    {"reset", forget_all, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(epochs_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(Object::dealloc)},
    {Py_tp_methods, methods},
    {0, nullptr},
};
PyType_Spec spec = {"genscope._core.EpochMonitor", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

bool add_epoch_monitor(PyObject* module) {
  PyObject* const type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  return type != nullptr && PyModule_AddObject(module, "EpochMonitor", type) == 0;
}

}  // namespace genscope::python
