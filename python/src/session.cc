// genscope.Session: opens the trace of this process, closes it at the end of its `with`.
#include <memory>
#include <new>
#include <string>

#include "arguments.h"
#include "open_spans.h"
#include "python.h"

namespace genscope::python {

std::atomic<unsigned long long> g_sessions = 0;
namespace {

struct SessionObject {
  PyObject_HEAD std::unique_ptr<Session> session;
};
SessionObject* self_of(PyObject* object) noexcept {
  return reinterpret_cast<SessionObject*>(object);
}

bool list_of(PyObject* object, std::vector<std::string>& texts) {
  if (object == nullptr || object == Py_None) return true;
  const Ref items(PySequence_List(object));
  if (!items) return false;
  for (Py_ssize_t i = 0; i < PyList_Size(items.get()); ++i) {
    std::string_view text;
    if (!text_of(PyList_GetItem(items.get(), i), text)) return false;
    texts.emplace_back(text);
  }
  return true;
}

PyObject* session_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"name",
                                "out",
                                "run_dir",
                                "buffer_bytes",
                                "max_trace_bytes",
                                "keep_newest",
                                "pack",
                                "os_clock",
                                "quiet",
                                "span",
                                "skip",
                                "probes",
                                "probe_interval_seconds",
                                nullptr};
  const char *name = nullptr, *out = "", *run_dir = "";
  unsigned long long buffer = 64u << 20, most = std::uint64_t{4} << 30;
  int newest = 0, pack = 1, os_clock = 0, quiet = 0, span = 1;
  PyObject *skip = nullptr, *probes = nullptr;
  SessionOptions options;
  double interval = options.probe_interval_seconds;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "s|$ssKKpppppOOd", const_cast<char**>(names),
                                  &name, &out, &run_dir, &buffer, &most, &newest, &pack, &os_clock,
                                  &quiet, &span, &skip, &probes, &interval) == 0) {
    return nullptr;
  }
  options.out = out;
  options.run_dir = run_dir;
  options.buffer_bytes = buffer;
  options.max_trace_bytes = most;
  options.when_full = newest != 0 ? WhenFull::keep_newest : WhenFull::stop;
  options.pack = pack != 0;
  options.clock = os_clock != 0 ? ClockChoice::os : ClockChoice::automatic;
  options.quiet = quiet != 0;
  options.span = span != 0;
  options.probe_interval_seconds = interval;
  if (!list_of(skip, options.skip) || !list_of(probes, options.probes)) return nullptr;
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const object = allocate(type, 0);
  if (object == nullptr) return nullptr;
  new (&self_of(object)->session) std::unique_ptr<Session>;
  {
    const std::string text = name;
    const WithoutGil released;
    self_of(object)->session = std::make_unique<Session>(text, options);
    g_sessions++;
  }
  return object;
}

PyObject* g_at_close = nullptr;  // callables; guarded by the GIL

// What hooks have summed up belongs into the session that ends. What they raise is written to
// stderr, as Python does with what cannot be raised.
void tell_the_rest() {
  if (g_at_close == nullptr) return;
  const Aside kept;
  for (Py_ssize_t i = 0; i < PyList_Size(g_at_close); ++i) {
    PyObject* const function = PyList_GetItem(g_at_close, i);
    const Ref result(PyObject_CallNoArgs(function));
    if (!result) PyErr_WriteUnraisable(function);
  }
}

PyObject* at_close(PyObject*, PyObject* function) {
  if (g_at_close == nullptr) g_at_close = PyList_New(0);
  if (g_at_close == nullptr || PyList_Append(g_at_close, function) != 0) return nullptr;
  return none();
}

void close(SessionObject* self) {
  if (!self->session) return;
  const WithoutGil released;
  settle_device_time();
  self->session->close();
}

void session_dealloc(PyObject* object) {
  close(self_of(object));
  self_of(object)->session.~unique_ptr();
  PyTypeObject* const type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

PyObject* session_close(PyObject* object, PyObject*) {
  const auto& session = self_of(object)->session;
  if (session && session->active()) tell_the_rest();
  close(self_of(object));
  return none();
}
PyObject* session_enter(PyObject* object, PyObject*) {
  Py_INCREF(object);
  return object;
}
PyObject* session_exit(PyObject* object, PyObject* args) {
  PyObject* const type = PyTuple_Size(args) > 0 ? PyTuple_GetItem(args, 0) : Py_None;
  if (type != Py_None) {
    const Ref name(PyObject_GetAttrString(type, "__name__"));
    std::string_view text;
    if (name && text_of(name.get(), text)) self_of(object)->session->arg("error", text);
    PyErr_Clear();
  }
  return session_close(object, nullptr);
}
PyObject* session_arg(PyObject* object, PyObject* args) {
  PyObject *key = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(args, "OO", &key, &value) == 0) return nullptr;
  Arg arg("", 0);
  const Took took = make_argument(key, value, arg);
  if (took == Took::failed) return nullptr;
  if (took == Took::yes) self_of(object)->session->handle().arg(arg);
  return none();
}
PyObject* get_active(PyObject* object, void*) {
  return PyBool_FromLong(self_of(object)->session->active() ? 1 : 0);
}
PyObject* get_error(PyObject* object, void*) { return to_str(self_of(object)->session->error()); }
PyObject* get_run_dir(PyObject* object, void*) {
  return to_str(self_of(object)->session->run_dir());
}
PyObject* get_id(PyObject* object, void*) {
  return PyLong_FromUnsignedLongLong(self_of(object)->session->handle().id());
}

PyMethodDef functions[] = {
    {"at_close", at_close, METH_O,
     "at_close(function): called as a session is closed, while it still records"},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef methods[] = {
    {"__enter__", session_enter, METH_NOARGS, nullptr},
    {"__exit__", session_exit, METH_VARARGS, nullptr},
    {"close", session_close, METH_NOARGS, "Ends the session now."},
    {"arg", session_arg, METH_VARARGS, "arg(key, value)"},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef properties[] = {
    {"active", get_active, nullptr, "Whether spans are being recorded.", nullptr},
    {"error", get_error, nullptr, "Why not, in one sentence.", nullptr},
    {"run_dir", get_run_dir, nullptr, "The run directory; empty if there is none.", nullptr},
    {"id", get_id, nullptr, "Of its span.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(session_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(session_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};
PyType_Spec spec = {"genscope._core.Session", sizeof(SessionObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool add_session(PyObject* module) {
  return add_type(module, spec, "Session") && PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace genscope::python
