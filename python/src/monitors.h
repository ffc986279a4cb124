// What the bindings of the monitors share.
//
// A MemoryReader is called with locks of a monitor held. Where it asks Python, a thread that holds
// the GIL and waits for such a lock would wait for ever: so every call into a monitor that may read
// memory or take long goes without the GIL (Released), and PythonMemory takes it for its own calls.
#pragma once

#include <genscope/compat/memory_reader.h>

#include <memory>
#include <new>
#include <optional>
#include <string>

#include "entry.h"

namespace genscope::python {

// An object of Python that holds a T, made when the object is. Without memory for the T it is
// empty, and of() throws: then calls that record do nothing, and those that read raise.
template <class T>
struct Holder {
  PyObject_HEAD alignas(T) unsigned char value[sizeof(T)];
  bool full;  // memory of Python's objects begins as zeros

  static T& of(PyObject* object) {
    Holder* const holder = reinterpret_cast<Holder*>(object);
    if (!holder->full) [[unlikely]]
      throw std::bad_alloc();
    return *std::launder(reinterpret_cast<T*>(holder->value));
  }

  static bool full_in(PyObject* object) noexcept { return reinterpret_cast<Holder*>(object)->full; }

  template <class... Args>
  static PyObject* make(PyTypeObject* type, Args&&... args) {
    Ref object(make_empty(type));
    if (!object) return nullptr;
    Holder* const holder = reinterpret_cast<Holder*>(object.get());
    new (holder->value) T{std::forward<Args>(args)...};
    holder->full = true;
    return object.release();
  }
  static PyObject* make_empty(PyTypeObject* type) noexcept {
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    return allocate(type, 0);
  }
  static void dealloc(PyObject* object) {
    if (full_in(object)) of(object).~T();
    PyTypeObject* const type = Py_TYPE(object);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
  }
};

// As WithoutGil, if `wanted`.
class Released {
 public:
  explicit Released(bool wanted) noexcept : state_(wanted ? PyEval_SaveThread() : nullptr) {}
  ~Released() noexcept(false) {  // as WithoutGil
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

// The memory of a GPU as two functions of Python tell it: `read() -> (used, reserved, peak)` in
// bytes, each may be None, and `reset()`. The process's memory is the kernel's word.
class PythonMemory final : public MemoryReader {
 public:
  PythonMemory(PyObject* read, PyObject* reset);
  ~PythonMemory() override;
  std::optional<std::uint64_t> cpu_bytes() noexcept override { return process_->cpu_bytes(); }
  bool has_gpu() const noexcept override { return true; }
  GpuMemory gpu() noexcept override;
  void reset_gpu_peak() noexcept override;
  std::string gpu_reason() const override { return {}; }

 private:
  PyObject *read_, *reset_;  // owned
  std::shared_ptr<MemoryReader> process_;
};

// By the functions, or by the driver if `read` is null or None.
std::shared_ptr<MemoryReader> memory_of(PyObject* read, PyObject* reset, int device);

PyObject* to_float(const std::optional<double>& value);

// Each file's part of the module.
bool add_generation_monitor(PyObject* module);
bool add_operation_monitor(PyObject* module);
bool add_epoch_monitor(PyObject* module);
bool add_sampler(PyObject* module);
bool add_settings(PyObject* module);

}  // namespace genscope::python
