// The batches and epochs of a training loop: the base of compat.training.EpochPerformanceMonitor,
// whose calls of a batch are here, without a frame of Python. What is to be printed goes to a
// function of Python, so that a redirected sys.stdout gets it.
#include <genscope/compat/epoch_monitor.h>

#include <utility>

#include "monitors.h"

namespace genscope::python {
namespace {

struct Epochs {
  bool release = false;  // the reader asks a GPU
  bool begun = false;    // __init__ was called; it may have had no memory for the monitor
  std::shared_ptr<std::string> text = std::make_shared<std::string>();
  std::shared_ptr<EpochPerformanceMonitor> monitor;  // null before __init__
  Ref print;                                         // (text)
  Ref number;                                        // makes a number of a loss, or None
};
using EpochObject = Holder<Epochs>;

PyObject* epochs_new(PyTypeObject* type, PyObject*, PyObject*) { return EpochObject::make(type); }

int epochs_init(PyObject* object, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"print", "number", "enabled",        "verbose_batches",   "device",
                                "read",  "reset",  "warmup_batches", "samples_per_batch", nullptr};
  int enabled = 1, device = 0;
  unsigned long long verbose = 5, warmup = 1, samples = 0;
  PyObject *print = nullptr, *number = nullptr, *read = nullptr, *reset = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OO|$pKiOOKK", const_cast<char**>(names), &print,
                                  &number, &enabled, &verbose, &device, &read, &reset, &warmup,
                                  &samples) == 0) {
    return -1;
  }
  Epochs& self = EpochObject::of(object);
  self.begun = true;
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
  self.monitor = std::make_shared<EpochPerformanceMonitor>(std::move(options));
  self.print = another(print);
  self.number = another(number);
  return 0;
}

// Runs `call`, and prints what it says.
template <class Call>
PyObject* printed(PyObject* object, Call&& call) {
  Epochs& self = EpochObject::of(object);
  const std::shared_ptr<EpochPerformanceMonitor> monitor = self.monitor;
  if (monitor == nullptr) {
    if (self.begun) throw std::bad_alloc();
    PyErr_SetString(PyExc_RuntimeError, "EpochPerformanceMonitor.__init__() was not called");
    return nullptr;
  }
  {
    const Released released(self.release);
    call(*monitor);
  }
  if (self.text->empty()) [[likely]]
    return none();
  const Ref text(to_str(std::exchange(*self.text, {})));
  return text ? PyObject_CallFunctionObjArgs(self.print.get(), text.get(), nullptr) : nullptr;
}

PyObject* epoch_start(PyObject* self, PyObject*) {
  return printed(self, [](EpochPerformanceMonitor& monitor) { monitor.on_epoch_start(); });
}
PyObject* epoch_end(PyObject* self, PyObject*) {
  return printed(self, [](EpochPerformanceMonitor& monitor) { monitor.on_epoch_end(); });
}
// False with an exception.
bool whole(PyObject* object, unsigned long long& value) noexcept {
  value = PyLong_AsUnsignedLongLong(object);
  return value != static_cast<unsigned long long>(-1) || PyErr_Occurred() == nullptr;
}

// The arguments of a call by their names, for those who give names. False with an exception.
template <std::size_t kCount>
bool by_name(const char* const (&names)[kCount], PyObject* const* args, Py_ssize_t count,
             PyObject* keywords, PyObject* (&values)[kCount]) noexcept {
  if (count > static_cast<Py_ssize_t>(kCount)) {
    PyErr_Format(PyExc_TypeError, "at most %zu arguments", kCount);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = args[i];
  const Py_ssize_t named = keywords != nullptr ? PyTuple_Size(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const key = PyTuple_GetItem(keywords, k);
    std::size_t at = 0;
    while (at < kCount && PyUnicode_CompareWithASCIIString(key, names[at]) != 0) ++at;
    if (at == kCount || values[at] != nullptr) {
      PyErr_Format(PyExc_TypeError,
                   at == kCount ? "unexpected keyword argument %R" : "argument %R was given twice",
                   key);
      return false;
    }
    values[at] = args[count + k];
  }
  if (values[0] != nullptr) return true;
  PyErr_Format(PyExc_TypeError, "missing argument '%s'", names[0]);
  return false;
}

// A loss that lies on a GPU is left out: to read it would wait for the GPU. False with an
// exception.
bool loss_of(const Epochs& self, PyObject* given, std::optional<double>& loss) noexcept {
  if (given == nullptr || given == Py_None) return true;
  Ref number;
  if (!PyFloat_CheckExact(given)) {
    number = Ref(PyObject_CallFunctionObjArgs(self.number.get(), given, nullptr));
    if (!number) return false;
    if (number.get() == Py_None) return true;
    given = number.get();
  }
  loss = PyFloat_AsDouble(given);
  return *loss != -1.0 || PyErr_Occurred() == nullptr;
}

// on_batch_start(batch_idx)
PyObject* batch_start(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static constexpr const char* names[] = {"batch_idx"};
  PyObject* given[1] = {};
  unsigned long long batch = 0;
  if (!by_name(names, args, count, keywords, given) || !whole(given[0], batch)) return nullptr;
  return printed(self, [&](EpochPerformanceMonitor& monitor) { monitor.on_batch_start(batch); });
}
// on_batch_end(batch_idx, loss=None, samples=0)
PyObject* batch_end(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  static constexpr const char* names[] = {"batch_idx", "loss", "samples"};
  PyObject* given[3] = {};
  unsigned long long batch = 0, samples = 0;
  std::optional<double> loss;
  if (!by_name(names, args, count, keywords, given) || !whole(given[0], batch) ||
      !loss_of(EpochObject::of(self), given[1], loss) ||
      (given[2] != nullptr && !whole(given[2], samples))) {
    return nullptr;
  }
  return printed(
      self, [&](EpochPerformanceMonitor& monitor) { monitor.on_batch_end(batch, loss, samples); });
}
PyObject* statistics(PyObject* self, PyObject*) {
  const std::shared_ptr<EpochPerformanceMonitor> monitor = EpochObject::of(self).monitor;
  std::string json = "{}";
  if (monitor != nullptr) {
    const WithoutGil released;
    json = monitor->get_statistics().to_json();
  }
  return to_str(json);
}
PyObject* forget_all(PyObject* self, PyObject*) {
  return printed(self, [](EpochPerformanceMonitor& monitor) { monitor.reset(); });
}

Method epoch_methods[] = {
    recording<epoch_start>("on_epoch_start", METH_NOARGS),
    recording<epoch_end>("on_epoch_end", METH_NOARGS),
    recording<batch_start>("on_batch_start", METH_FASTCALL | METH_KEYWORDS,
                           "on_batch_start($self, batch_idx)\n--\n\n"),
    recording<batch_end>(
        "on_batch_end", METH_FASTCALL | METH_KEYWORDS,
        "on_batch_end($self, batch_idx, loss=None, samples=0)\n--\n\n"
        "A loss that lies on a GPU is left out: to read it would wait for the GPU."),
    reading<statistics>("_statistics", METH_NOARGS, "JSON."),
    recording<forget_all>("reset", METH_NOARGS),
    {},
};
Slot epoch_slots[] = {
    Slot::made<epochs_new, EpochObject>(),
    Slot::init<epochs_init>(),
    Slot::dealloc<EpochObject::dealloc>(),
    Slot(epoch_methods),
    {},
};
constexpr TypeSpec epoch_spec = {"genscope._core.EpochMonitor", sizeof(EpochObject), epoch_slots,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE};

}  // namespace

bool add_epoch_monitor(PyObject* module) { return add_type(module, epoch_spec, "EpochMonitor"); }

}  // namespace genscope::python
