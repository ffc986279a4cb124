// genscope.Session: opens the trace of this process, closes it at the end of its `with`.
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "arguments.h"
#include "entry.h"
#include "open_spans.h"
#include "python.h"

namespace genscope::python {

std::atomic<unsigned long long> g_sessions = 0;
namespace {

struct SessionObject {
  PyObject_HEAD std::unique_ptr<Session> session;  // null: there was no memory for it
};
PyObject* g_spare = nullptr;  // one without a session
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

PyObject* give_spare(PyObject*, PyObject* const*) noexcept { return another(g_spare).release(); }

constexpr const char* kNoMemory = "there is no memory to begin with";

PyObject* make_object(PyTypeObject* type) noexcept {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const object = allocate(type, 0);
  if (object != nullptr) new (&self_of(object)->session) std::unique_ptr<Session>;
  return object;
}

// False: there is no memory for it.
bool open(SessionObject* self, const char* name, const SessionOptions& options) {
  const WithoutGil released;
  try {
    self->session = std::make_unique<Session>(name, options);
    g_sessions++;
  } catch (const std::bad_alloc&) {
  }
  return self->session != nullptr;
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
                                "keep_args",
                                nullptr};
  const char *name = nullptr, *out = "", *run_dir = "";
  unsigned long long buffer = 64u << 20, most = std::uint64_t{4} << 30;
  int newest = 0, pack = 1, os_clock = 0, quiet = 0, span = 1, keep_args = 0;
  PyObject *skip = nullptr, *probes = nullptr;
  SessionOptions options;
  double interval = options.probe_interval_seconds;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "s|$ssKKpppppOOdp", const_cast<char**>(names),
                                  &name, &out, &run_dir, &buffer, &most, &newest, &pack, &os_clock,
                                  &quiet, &span, &skip, &probes, &interval, &keep_args) == 0) {
    return nullptr;
  }
  Ref object(make_object(type));
  if (!object) return nullptr;
  options.buffer_bytes = buffer;
  options.max_trace_bytes = most;
  options.when_full = newest != 0 ? WhenFull::keep_newest : WhenFull::stop;
  options.pack = pack != 0;
  options.clock = os_clock != 0 ? ClockChoice::os : ClockChoice::automatic;
  options.quiet = quiet != 0;
  options.span = span != 0;
  options.keep_args = keep_args != 0;
  options.probe_interval_seconds = interval;
  bool opened = false;
  try {
    options.out = out;
    options.run_dir = run_dir;
    if (!list_of(skip, options.skip) || !list_of(probes, options.probes)) return nullptr;
    opened = open(self_of(object.get()), name, options);
  } catch (const std::bad_alloc&) {
  }
  if (!opened && !options.quiet) PySys_WriteStderr("genscope: recording is off: %s\n", kNoMemory);
  return object.release();
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
Handle handle_of(PyObject* object) noexcept {
  const auto& session = self_of(object)->session;
  return session ? session->handle() : Handle();
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
    if (name && text_of(name.get(), text)) handle_of(object).arg("error", text);
    PyErr_Clear();
  }
  return session_close(object, nullptr);
}
PyObject* session_arg(PyObject* object, PyObject* args) {
  PyObject *key = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(args, "OO", &key, &value) == 0) return nullptr;
  if (!PyUnicode_Check(key)) {
    PyErr_SetString(PyExc_TypeError, "the key of an argument must be a str");
    return nullptr;
  }
  Pair pair;
  if (make_argument(key, value, pair)) handle_of(object).arg(pair.arg);
  return none();
}
PyObject* get_active(PyObject* object, void*) {
  const auto& session = self_of(object)->session;
  return PyBool_FromLong(session && session->active() ? 1 : 0);
}
PyObject* get_error(PyObject* object, void*) {
  const auto& session = self_of(object)->session;
  return session ? to_str(session->error()) : to_str(kNoMemory);
}
PyObject* get_run_dir(PyObject* object, void*) {
  const auto& session = self_of(object)->session;
  return to_str(session ? session->run_dir() : std::string());
}
PyObject* get_id(PyObject* object, void*) {
  return PyLong_FromUnsignedLongLong(handle_of(object).id());
}

Method functions[] = {
    recording<at_close>(
        "at_close", METH_O,
        "at_close(function): called as a session is closed, while it still records"),
    {},
};
constexpr char kSessionDoc[] =
    R"(A run that is open. session() makes one; it ends with its `with` block.

>>> with gs.session("my-model") as session:
...     session.arg("model", "toy")
)";

Method methods[] = {
    recording<session_enter, Drop<give_self>>("__enter__", METH_NOARGS),
    recording<session_exit>("__exit__", METH_VARARGS),
    recording<session_close>("close", METH_NOARGS, "Ends the session now."),
    recording<session_arg>(
        "arg", METH_VARARGS,
        "arg(key, value): keeps a fact about the run, such as a model or a setting."),
    {},
};
Value properties[] = {
    value<get_active>("active", "Whether spans are being recorded."),
    recorded_value<get_error, DropText>("error", "Why not, in one sentence."),
    recorded_value<get_run_dir, DropText>("run_dir", "The run directory; empty if there is none."),
    recorded_value<get_id, DropId>("id", "The id of its span."),
    {},
};
Slot slots[] = {
    Slot::recorded_new<session_new, Drop<give_spare, 1, 0>>(),
    Slot::dealloc<session_dealloc>(),
    Slot(methods),
    Slot(properties),
    Slot::doc(kSessionDoc),
    {},
};
constexpr TypeSpec spec = {"genscope._core.Session", sizeof(SessionObject), slots,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE};

}  // namespace

bool add_session(PyObject* module) {
  PyTypeObject* const type = make_type(module, spec);
  if (type == nullptr || (g_spare = make_object(type)) == nullptr) return false;
  return PyModule_AddObject(module, "Session", reinterpret_cast<PyObject*>(type)) == 0 &&
         add_functions(module, functions);
}

}  // namespace genscope::python
