// Calls as spans: what genscope.wrap() gives. A builtin function, so that a call of it makes no
// tuple.
#include <dlfcn.h>

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
  if (more > 0) keywords = Ref(PyDict_New());
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

PyMethodDef wrapped_call = {"wrapped", as_function(call_wrapped), METH_FASTCALL | METH_KEYWORDS,
                            "Calls what genscope.wrap() was given, as a span."};

int wrapped_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(reinterpret_cast<Wrapped*>(object)->function);
  return 0;
}
int wrapped_clear(PyObject* object) {
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
PyType_Slot wrapped_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(wrapped_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(wrapped_clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(wrapped_dealloc)},
    {Py_tp_members, wrapped_members},
    {0, nullptr},
};
PyType_Spec wrapped_spec = {
    "genscope._core.Wrapped", sizeof(Wrapped), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, wrapped_slots};

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

PyMethodDef functions[] = {
    {"wrap_call", as_function(wrap_call), METH_FASTCALL, "wrap_call(function, name, kind, /)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_wrapped(PyObject* module) {
  g_vectorcall = reinterpret_cast<Vectorcall>(::dlsym(RTLD_DEFAULT, "PyObject_Vectorcall"));
  PyObject* const type = PyType_FromModuleAndSpec(module, &wrapped_spec, nullptr);
  if (type == nullptr) return false;
  g_wrapped = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace genscope::python
