// The doors through which CPython calls us. No C++ exception passes one:
//
//   recording<f, IfNot>  what a program calls to be measured. It never fails for our lack of
//   memory:
//                       the call is dropped and counted, and gives what IfNot says.
//   reading<f>          what gives data: MemoryError, or RuntimeError for anything else.
//   passing<f>          runs a function of the program's; what that raises is the program's. `f`
//                       itself throws nothing.
//
// The tables are of types that only these fill, so that no entry can go without a door.
#pragma once

#include <cxxabi.h>

#include <cstddef>
#include <type_traits>

#include <genscope/record.h>

#include "python.h"

namespace genscope::python {

// What a dropped call gives, and counts as. `kGive(self, args)` cannot fail: it makes no object.
// `args` are those of a vector call, null if it has none.
template <auto kGive, unsigned kLostSpans = 0, unsigned kLostRecords = 0>
struct Drop {
  static constexpr auto give = kGive;
  static constexpr unsigned spans = kLostSpans, records = kLostRecords;
};

inline PyObject* give_none(PyObject*, PyObject* const*) noexcept { return none(); }
inline PyObject* give_self(PyObject* self, PyObject* const*) noexcept {
  return another(self).release();
}
inline PyObject* give_first(PyObject*, PyObject* const* args) noexcept {
  return args != nullptr ? another(args[0]).release() : none();
}
PyObject* give_zero(PyObject* self, PyObject* const* args) noexcept;
PyObject* give_nothing(PyObject* self, PyObject* const* args) noexcept;  // for `with`; stages.cc
PyObject* give_no_text(PyObject* self, PyObject* const* args) noexcept;

using DropRecord = Drop<give_none, 0, 1>;
using DropSpan = Drop<give_zero, 1, 0>;  // of a call that gives its id
using DropId = Drop<give_zero, 0, 1>;
using DropText = Drop<give_no_text>;

namespace internal_entry {

[[gnu::cold, gnu::noinline]] void count_dropped(unsigned spans, unsigned records) noexcept;
// Python's exception for the C++ one that is being handled.
[[gnu::cold, gnu::noinline]] void raise_current() noexcept;

template <class Self>
PyObject* self_in(Self* self) noexcept {
  return reinterpret_cast<PyObject*>(self);
}
template <class... Rest>
PyObject* const* args_in(PyObject* const* args, Py_ssize_t count, Rest...) noexcept {
  return count > 0 ? args : nullptr;
}
template <class... Rest>
PyObject* const* args_in(Rest...) noexcept {
  return nullptr;
}

template <class R>
constexpr R failure() noexcept {
  if constexpr (std::is_pointer_v<R>) {
    return nullptr;
  } else if constexpr (!std::is_void_v<R>) {
    return -1;
  }
}

// A thread that Python ends inside a call is unwound, too, and that may not be stopped.
#if defined(__GLIBCXX__)
#define GENSCOPE_LET_THREADS_END  \
  catch (abi::__forced_unwind&) { \
    throw;                        \
  }
#else
#define GENSCOPE_LET_THREADS_END
#endif

// Null with MemoryError: to be dropped.
template <auto kFunction, class... A>
PyObject* try_to(A... args) {
  if constexpr (noexcept(kFunction(args...))) {
    return kFunction(args...);
  } else {
    try {
      if (internal::may_throw()) [[likely]]
        return kFunction(args...);
    }
    GENSCOPE_LET_THREADS_END
    catch (...) {
    }
    return PyErr_NoMemory();
  }
}

template <auto kFunction, class IfNot, class Self, class... A>
PyObject* record(Self* self, A... args) {
  PyObject* const result = try_to<kFunction>(self, args...);
  if (result != nullptr) [[likely]]
    return result;
  if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) return nullptr;
  count_dropped(IfNot::spans, IfNot::records);
  return IfNot::give(self_in(self), args_in(args...));
}

template <auto kFunction, class R, class... A>
R read(A... args) {
  try {
    if (internal::may_throw()) [[likely]]
      return kFunction(args...);
    PyErr_NoMemory();
  }
  GENSCOPE_LET_THREADS_END
  catch (...) {
    raise_current();
  }
  return failure<R>();
}

template <auto kFunction>
void destroy(PyObject* object) {
  if constexpr (noexcept(kFunction(object))) {
    kFunction(object);
  } else {
    try {
      internal::may_throw();  // what is left must be freed in any case
      kFunction(object);
    }
    GENSCOPE_LET_THREADS_END
    catch (...) {
    }
  }
}

// The object is there all the same: it is its own to do nothing.
template <auto kFunction>
int init(PyObject* self, PyObject* args, PyObject* keywords) {
  try {
    const int result = internal::may_throw() ? kFunction(self, args, keywords) : -1;
    if (result == 0) return 0;
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_MemoryError) == 0) return -1;
  }
  GENSCOPE_LET_THREADS_END
  catch (...) {
  }
  count_dropped(0, 1);
  return 0;
}

// The object is made all the same: it is `Object`'s to do nothing.
template <auto kFunction, class Object>
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  try {
    if (internal::may_throw()) [[likely]]
      return kFunction(type, args, keywords);
  }
  GENSCOPE_LET_THREADS_END
  catch (...) {
  }
  return Object::make_empty(type);
}

#undef GENSCOPE_LET_THREADS_END

// Their form is deduced, so that one name serves all of CPython's.
template <auto kFunction, class IfNot, class Self, class... A>
constexpr auto recorder(PyObject* (*)(Self*, A...)) noexcept {
  return record<kFunction, IfNot, Self, A...>;
}
template <auto kFunction, class R, class... A>
constexpr auto reader(R (*)(A...)) noexcept {
  return read<kFunction, R, A...>;
}

}  // namespace internal_entry

class Method;
template <auto kFunction, class IfNot = DropRecord>
Method recording(const char* name, int form, const char* doc = nullptr) noexcept;
template <auto kFunction>
Method reading(const char* name, int form, const char* doc = nullptr) noexcept;
template <auto kFunction>
Method passing(const char* name, int form, const char* doc = nullptr) noexcept;

class Value;
template <auto kGet>
Value value(const char* name, const char* doc = nullptr) noexcept;
// Of an object that programs ask while they are measured.
template <auto kGet, class IfNot>
Value recorded_value(const char* name, const char* doc = nullptr) noexcept;

// A method or function; `{}` ends a table.
class Method : public PyMethodDef {
 public:
  Method() noexcept : PyMethodDef{} {}

 private:
  template <class F>
  Method(const char* called, F function, int form, const char* text) noexcept
      : PyMethodDef{called, as_function(function), form, text} {}
  template <auto kFunction, class IfNot>
  friend Method recording(const char* name, int form, const char* doc) noexcept;
  template <auto kFunction>
  friend Method reading(const char* name, int form, const char* doc) noexcept;
  template <auto kFunction>
  friend Method passing(const char* name, int form, const char* doc) noexcept;
};
static_assert(sizeof(Method) == sizeof(PyMethodDef));

template <auto kFunction, class IfNot>
Method recording(const char* name, int form, const char* doc) noexcept {
  return {name, internal_entry::recorder<kFunction, IfNot>(kFunction), form, doc};
}
template <auto kFunction>
Method reading(const char* name, int form, const char* doc) noexcept {
  return {name, internal_entry::reader<kFunction>(kFunction), form, doc};
}
template <auto kFunction>
Method passing(const char* name, int form, const char* doc) noexcept {
  return {name, kFunction, form, doc};
}

// An attribute that is worked out; `{}` ends a table.
class Value : public PyGetSetDef {
 public:
  Value() noexcept : PyGetSetDef{} {}

 private:
  Value(const char* called, getter function, const char* text) noexcept
      : PyGetSetDef{called, function, nullptr, text, nullptr} {}
  template <auto kGet>
  friend Value value(const char* name, const char* doc) noexcept;
  template <auto kGet, class IfNot>
  friend Value recorded_value(const char* name, const char* doc) noexcept;
};
static_assert(sizeof(Value) == sizeof(PyGetSetDef));

template <auto kGet>
Value value(const char* name, const char* doc) noexcept {
  return {name, internal_entry::reader<kGet>(kGet), doc};
}
template <auto kGet, class IfNot>
Value recorded_value(const char* name, const char* doc) noexcept {
  return {name, internal_entry::recorder<kGet, IfNot>(kGet), doc};
}

// A part of a type; `{}` ends a table.
class Slot : public PyType_Slot {
 public:
  Slot() noexcept : PyType_Slot{} {}
  explicit Slot(Method* methods) noexcept : PyType_Slot{Py_tp_methods, methods} {}
  explicit Slot(Value* values) noexcept : PyType_Slot{Py_tp_getset, values} {}
  explicit Slot(PyMemberDef* members) noexcept : PyType_Slot{Py_tp_members, members} {}

  // tp_new that gives what `IfNot` says, or an empty object.
  template <auto kFunction, class IfNot>
  static Slot recorded_new() noexcept {
    return {Py_tp_new, internal_entry::recorder<kFunction, IfNot>(kFunction)};
  }
  template <auto kFunction, class Object>
  static Slot made() noexcept {
    return {Py_tp_new, &internal_entry::make<kFunction, Object>};
  }
  template <auto kFunction>
  static Slot init() noexcept {
    return {Py_tp_init, &internal_entry::init<kFunction>};
  }
  template <auto kFunction>
  static Slot dealloc() noexcept {
    return {Py_tp_dealloc, &internal_entry::destroy<kFunction>};
  }
  template <auto kFunction>
  static Slot repr() noexcept {
    return {Py_tp_repr, internal_entry::reader<kFunction>(kFunction)};
  }
  // Another slot, of a function that gives data.
  template <auto kFunction>
  static Slot reading(int id) noexcept {
    return {id, internal_entry::reader<kFunction>(kFunction)};
  }
  // What help() shows.
  static Slot doc(const char* text) noexcept { return {Py_tp_doc, const_cast<char*>(text)}; }
  // For the collector: touches references alone.
  static Slot traverse(int (*function)(PyObject*, visitproc, void*) noexcept) noexcept {
    return {Py_tp_traverse, function};
  }
  static Slot clear(int (*function)(PyObject*) noexcept) noexcept {
    return {Py_tp_clear, function};
  }

 private:
  template <class F>
  Slot(int id, F function) noexcept : PyType_Slot{id, reinterpret_cast<void*>(function)} {}
};
static_assert(sizeof(Slot) == sizeof(PyType_Slot));

inline constexpr unsigned kMadeHere = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;

struct TypeSpec {
  const char* name;
  std::size_t size;
  Slot* slots;
  unsigned flags = Py_TPFLAGS_DEFAULT;
};

// A new reference; null with an exception.
PyTypeObject* make_type(PyObject* module, const TypeSpec& spec) noexcept;
// A type as a name of the module; false with an exception.
bool add_type(PyObject* module, const TypeSpec& spec, const char* name) noexcept;
bool add_functions(PyObject* module, Method* functions) noexcept;

}  // namespace genscope::python
