// CPython's API, and the few helpers with which the extension is written.
//
// Limited API of 3.10 (set by CMake) except on free-threaded builds, which have none yet.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>

#include <genscope/error.h>

namespace genscope::python {

// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// A reference beside the caller's own; null for null.
inline Ref another(PyObject* object) noexcept {
  Py_XINCREF(object);
  return Ref(object);
}

inline PyObject* none() noexcept {
  Py_INCREF(Py_None);
  return Py_None;
}

// The text of a str; false with an exception for anything else. Valid while `object` is.
inline bool text_of(PyObject* object, std::string_view& text) noexcept {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(object, &size);
  if (data == nullptr) return false;
  text = {data, static_cast<std::size_t>(size)};
  return true;
}

inline PyObject* to_str(std::string_view text) noexcept {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// dict[key] = owned, which may be null when its making failed. False: a Python exception is set.
inline bool put(PyObject* dict, std::string_view key, PyObject* owned) noexcept {
  const Ref name(to_str(key)), value(owned);
  return name && value && PyDict_SetItem(dict, name.get(), value.get()) == 0;
}

// Raises what an Error says: ValueError, FileNotFoundError, OSError.
PyObject* raise(const Error& error) noexcept;

// Whether a call has as many arguments; else a TypeError that tells the form.
inline bool arity(Py_ssize_t count, Py_ssize_t least, Py_ssize_t most, const char* form) noexcept {
  if (count >= least && count <= most) return true;
  PyErr_SetString(PyExc_TypeError, form);
  return false;
}

// A function of any of CPython's forms, as a PyMethodDef wants it.
template <class F>
PyCFunction as_function(F function) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

// Holds an exception that is on its way while we call Python.
class Aside {
 public:
  Aside() noexcept { PyErr_Fetch(&type_, &value_, &trace_); }
  ~Aside() { PyErr_Restore(type_, value_, trace_); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// Around our own data, where no GIL does it; never held while Python is called.
#if defined(Py_GIL_DISABLED)
using OwnMutex = std::mutex;
#else
struct OwnMutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};
#endif

// Lets other Python threads run while it lives; nothing of Python's may be touched meanwhile.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
  // A thread that waits for the GIL of an interpreter that ends is ended there, by unwinding.
  ~WithoutGil() noexcept(false) { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Sessions that were opened in this process.
extern std::atomic<unsigned long long> g_sessions;

// Each file's part of the module; false with an exception set.
bool add_spans(PyObject* module);
bool add_recording(PyObject* module);
bool add_wrapped(PyObject* module);
bool add_session(PyObject* module);
bool add_reading(PyObject* module);
bool add_columns(PyObject* module);
bool add_arrow(PyObject* module);
bool add_models(PyObject* module);
bool add_request_monitor(PyObject* module);
bool add_monitors(PyObject* module);
bool add_device(PyObject* module);
bool add_events(PyObject* module);
bool add_plain(PyObject* module);
bool add_stages(PyObject* module);
bool add_steps(PyObject* module);
bool add_validator(PyObject* module);
bool add_bench(PyObject* module);
bool add_bench_suite(PyObject* module);
bool add_optimize_devices(PyObject* module);
bool add_optimize_models(PyObject* module);
bool add_optimize_cache(PyObject* module);
bool add_optimize_lanes(PyObject* module);
bool add_optimize_tiers(PyObject* module);
bool add_optimize_flow(PyObject* module);
bool add_stacks(PyObject* module);

// Takes the device time that is known by now. Before a trace is closed, without the GIL.
void settle_device_time() noexcept;

}  // namespace genscope::python
