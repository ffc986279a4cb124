#include "monitors.h"

namespace genscope::python {
namespace {

// Takes the GIL, and keeps an exception that is on its way apart.
class Inside {
 public:
  Inside() noexcept : state_(PyGILState_Ensure()) { PyErr_Fetch(&type_, &value_, &trace_); }
  ~Inside() {
    PyErr_Restore(type_, value_, trace_);
    PyGILState_Release(state_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  PyGILState_STATE state_;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

std::optional<std::uint64_t> item(PyObject* tuple, Py_ssize_t at) {
  PyObject* const value = PyTuple_GetItem(tuple, at);  // borrowed
  if (value == nullptr || value == Py_None) return std::nullopt;
  const std::uint64_t bytes = PyLong_AsUnsignedLongLong(value);
  if (PyErr_Occurred() != nullptr) return std::nullopt;
  return bytes;
}

}  // namespace

PythonMemory::PythonMemory(PyObject* read, PyObject* reset)
    : read_(read), reset_(reset), process_(make_memory_reader({.gpu = false})) {
  Py_INCREF(read_);
  Py_XINCREF(reset_);
}

PythonMemory::~PythonMemory() {
  if (Py_IsInitialized() == 0) return;
  const Inside inside;
  Py_DECREF(read_);
  Py_XDECREF(reset_);
}

GpuMemory PythonMemory::gpu() noexcept {
  GpuMemory memory;
  const Inside inside;
  const Ref figures(PyObject_CallNoArgs(read_));
  if (figures && PyTuple_Check(figures.get()) && PyTuple_Size(figures.get()) == 3) {
    memory.used_bytes = item(figures.get(), 0);
    memory.reserved_bytes = item(figures.get(), 1);
    memory.peak_bytes = item(figures.get(), 2);
  }
  PyErr_Clear();
  return memory;
}

void PythonMemory::reset_gpu_peak() noexcept {
  if (reset_ == nullptr || reset_ == Py_None) return;
  const Inside inside;
  const Ref done(PyObject_CallNoArgs(reset_));
  PyErr_Clear();
}

std::shared_ptr<MemoryReader> memory_of(PyObject* read, PyObject* reset, int device) {
  if (read != nullptr && read != Py_None) return std::make_shared<PythonMemory>(read, reset);
  const WithoutGil released;  // the driver's library may be loaded here
  return default_memory_reader(device);
}

PyObject* to_float(const std::optional<double>& value) {
  return value ? PyFloat_FromDouble(*value) : none();
}

bool add_monitors(PyObject* module) {
  return add_generation_monitor(module) && add_operation_monitor(module) &&
         add_epoch_monitor(module) && add_sampler(module) && add_settings(module);
}

}  // namespace genscope::python
