// Calls as spans: what genscope.wrap() gives. A builtin function, so that a call of it makes no
// tuple.
#include <dlfcn.h>

#include "entry.h"
#include "open_spans.h"
#include "span.h"

#include <structmember.h>  // after Python.h

namespace genscope::python {
namespace {

struct Wrapped {
  PyObject_HEAD PyObject* function;
  Site* site;
};
PyTypeObject* g_wrapped = nullptr;

// Exported since 3.9, in the limited API since 3.12; null: through PyObject_Call.
using Vectorcall = PyObject* (*)(PyObject*, PyObject* const*, std::size_t, PyObject*);
Vectorcall g_vectorcall = nullptr;

PyObject* call_by_tuple(PyObject* function, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) {
  const Ref positional(PyTuple_New(count));
  if (!positional) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(args[i]);
    PyTuple_SetItem(positional.get(), i, args[i]);
  }
  Ref keywords;
  const Py_ssize_t more = names != nullptr ? PyTuple_Size(names) : 0;
  if (more > 0 && !(keywords = Ref(PyDict_New()))) return nullptr;
  for (Py_ssize_t i = 0; i < more; ++i) {
    if (PyDict_SetItem(keywords.get(), PyTuple_GetItem(names, i), args[count + i]) != 0) {
      return nullptr;
    }
  }
  return PyObject_Call(function, positional.get(), keywords.get());
}

PyObject* call_wrapped(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const Wrapped* const wrapped = reinterpret_cast<Wrapped*>(self);
  std::uint64_t id = 0;
  Opened opened;
  const bool in_task = loop_may_run() && loop_is_running();
  if (in_task) {
    opened = open_in_task(wrapped->site->kind, wrapped->site->name);
    id = opened.id;
  } else {
    id = internal::begin(*wrapped->site);
    if (id != 0) push(id);
  }
  if (g_on_begin != nullptr && id != 0) g_on_begin(id, wrapped->site->kind);
  PyObject* const result =
      g_vectorcall != nullptr
          ? g_vectorcall(wrapped->function, args, static_cast<std::size_t>(count), names)
          : call_by_tuple(wrapped->function, args, count, names);
  if (id == 0) return result;
  if (g_on_end != nullptr) g_on_end(id, wrapped->site->kind);
  if (in_task) {
    close_in_task(opened, result == nullptr);
    return result;
  }
  if (result == nullptr) [[unlikely]] {
    end_failed(Handle(id));
  } else {
    internal::end(id);
  }
  pop(id);
  return result;
}

Method wrapped_call = passing<call_wrapped>("wrapped", METH_FASTCALL | METH_KEYWORDS,
                                            "Calls what genscope.wrap() was given, as a span.");

int wrapped_traverse(PyObject* object, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(reinterpret_cast<Wrapped*>(object)->function);
  return 0;
}
int wrapped_clear(PyObject* object) noexcept {
  Py_CLEAR(reinterpret_cast<Wrapped*>(object)->function);
  return 0;
}
void wrapped_dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  wrapped_clear(object);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}
PyMemberDef wrapped_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Wrapped, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
Slot wrapped_slots[] = {
    Slot::traverse(wrapped_traverse),
    Slot::clear(wrapped_clear),
    Slot::dealloc<wrapped_dealloc>(),
    Slot(wrapped_members),
    {},
};
constexpr TypeSpec wrapped_spec = {"genscope._core.Wrapped", sizeof(Wrapped), wrapped_slots,
                                   kMadeHere | Py_TPFLAGS_HAVE_GC};

// wrap_call(function, name, kind, /): a builtin whose __self__.__wrapped__ is `function`.
PyObject* wrap_call(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::string_view text;
  SpanKind kind = SpanKind::function;
  if (!arity(count, 3, 3, "wrap_call(function, name, kind, /)") || !text_of(args[1], text) ||
      !kind_of(args[2], kind)) {
    return nullptr;
  }
  if (PyCallable_Check(args[0]) == 0) {
    PyErr_Format(PyExc_TypeError, "%R cannot be called", args[0]);
    return nullptr;
  }
  Site* const site = site_of(kind, text);
  if (site == nullptr) {
    PyErr_SetString(PyExc_ValueError,
                    "wrap: the name is longer than 255 bytes, has a zero byte, or there are too "
                    "many names");
    return nullptr;
  }
  Wrapped* const wrapped = PyObject_GC_New(Wrapped, g_wrapped);
  if (wrapped == nullptr) return nullptr;
  Py_INCREF(args[0]);
  wrapped->function = args[0];
  wrapped->site = site;
  PyObject* const self = reinterpret_cast<PyObject*>(wrapped);
  PyObject_GC_Track(self);
  PyObject* const function = PyCFunction_NewEx(&wrapped_call, self, nullptr);
  Py_DECREF(self);
  return function;
}

Method functions[] = {
    recording<wrap_call, Drop<give_first, 0, 1>>("wrap_call", METH_FASTCALL,
                                                 "wrap_call(function, name, kind, /)"),
    {},
};

}  // namespace

bool add_wrapped(PyObject* module) {
  g_vectorcall = reinterpret_cast<Vectorcall>(::dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"));
  g_wrapped = make_type(module, wrapped_spec);
  return g_wrapped != nullptr && add_functions(module, functions);
}

}  // namespace genscope::python
