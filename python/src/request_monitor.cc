// genscope._core.RequestMonitor and ServedRequest: the monitor of a service, for genscope.asgi.
#include <genscope/request_monitor.h>

#include <memory>
#include <new>

#include "python.h"

namespace genscope::python {
namespace {

// Both objects hold one pointer, made by `new` and never null.
template <class T>
struct Holder {
  PyObject_HEAD T* held;
};
template <class T>
T& held(PyObject* object) noexcept {
  return *reinterpret_cast<Holder<T>*>(object)->held;
}
template <class T>
void holder_dealloc(PyObject* object) {
  delete reinterpret_cast<Holder<T>*>(object)->held;
  PyTypeObject* const type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}
template <class T>
PyObject* hold(PyTypeObject* type, std::unique_ptr<T> value) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* const object = allocate(type, 0);
  if (object != nullptr) reinterpret_cast<Holder<T>*>(object)->held = value.release();
  return object;
}

PyTypeObject* g_served = nullptr;

// --- a request

PyObject* served_started(PyObject* self, PyObject*) {
  held<ServedRequest>(self).started();
  return none();
}
PyObject* served_waited(PyObject* self, PyObject* seconds) {
  const double value = PyFloat_AsDouble(seconds);
  if (value == -1.0 && PyErr_Occurred() != nullptr) return nullptr;
  held<ServedRequest>(self).waited(value);
  return none();
}
PyObject* served_first_byte(PyObject* self, PyObject*) {
  held<ServedRequest>(self).first_byte();
  return none();
}
PyObject* served_finish(PyObject* self, PyObject* args) {
  int status = 200;
  if (PyArg_ParseTuple(args, "|i", &status) == 0) return nullptr;
  held<ServedRequest>(self).finish(status);
  return none();
}
PyObject* served_fail(PyObject* self, PyObject* error_class) {
  std::string_view text;
  if (!text_of(error_class, text)) return nullptr;
  held<ServedRequest>(self).fail(text);
  return none();
}
PyObject* get_id(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(held<ServedRequest>(self).id());
}
PyObject* get_span_id(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(held<ServedRequest>(self).span_id());
}
PyObject* get_elapsed(PyObject* self, void*) {
  return PyFloat_FromDouble(held<ServedRequest>(self).elapsed_seconds());
}

PyMethodDef served_methods[] = {
    {"started", served_started, METH_NOARGS, "It left the queue."},
    {"waited", served_waited, METH_O, "waited(seconds): before it came here."},
    {"first_byte", served_first_byte, METH_NOARGS, "Of its answer; later calls do nothing."},
    {"finish", served_finish, METH_VARARGS, "finish(http_status=200)"},
    {"fail", served_fail, METH_O, "fail(error_class)"},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef served_properties[] = {
    {"id", get_id, nullptr, "Counts up within the monitor; 0 once it has ended.", nullptr},
    {"span_id", get_span_id, nullptr, "0 while nothing is recorded.", nullptr},
    {"elapsed_seconds", get_elapsed, nullptr, "0 once it has ended.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot served_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(holder_dealloc<ServedRequest>)},
    {Py_tp_methods, served_methods},
    {Py_tp_getset, served_properties},
    {0, nullptr},
};
PyType_Spec served_spec = {"genscope._core.ServedRequest", sizeof(Holder<ServedRequest>), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, served_slots};

// --- the monitor

PyObject* monitor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"name",          "slo_seconds",     "window",
                                "error_classes", "publish_seconds", nullptr};
  RequestMonitorOptions options;
  const char* name = options.name.c_str();
  Py_ssize_t window = static_cast<Py_ssize_t>(options.window);
  Py_ssize_t classes = static_cast<Py_ssize_t>(options.error_classes);
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$sdnnd", const_cast<char**>(names), &name,
                                  &options.slo_seconds, &window, &classes,
                                  &options.publish_seconds) == 0) {
    return nullptr;
  }
  if (window < 1 || window > 1'000'000 || classes < 1 || classes > 10'000) {
    PyErr_SetString(PyExc_ValueError,
                    "window is from 1 to 1000000 requests, error_classes from 1 to 10000");
    return nullptr;
  }
  RequestMonitorOptions given = options;
  given.name = name;
  given.window = static_cast<std::size_t>(window);
  given.error_classes = static_cast<std::size_t>(classes);
  return hold(type, std::make_unique<RequestMonitor>(std::move(given)));
}

template <ServedRequest (RequestMonitor::*kOpen)(std::string_view)>
PyObject* monitor_open(PyObject* self, PyObject* route) {
  std::string_view text;
  if (!text_of(route, text)) return nullptr;
  return hold(g_served, std::make_unique<ServedRequest>((held<RequestMonitor>(self).*kOpen)(text)));
}
PyObject* monitor_stats(PyObject* self, PyObject*) {
  return to_str(to_json(held<RequestMonitor>(self).stats()));
}
PyObject* monitor_text(PyObject* self, PyObject*) {
  return to_str(held<RequestMonitor>(self).prometheus_text());
}
PyObject* monitor_headers(PyObject* self, PyObject* request) {
  if (Py_TYPE(request) != g_served) {
    PyErr_SetString(PyExc_TypeError, "response_headers(request): of begin() or enqueue()");
    return nullptr;
  }
  Ref list(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& [key, value] :
       held<RequestMonitor>(self).response_headers(held<ServedRequest>(request))) {
    const Ref pair(Py_BuildValue("(ss)", key.c_str(), value.c_str()));
    if (!pair || PyList_Append(list.get(), pair.get()) != 0) return nullptr;
  }
  return list.release();
}

PyMethodDef monitor_methods[] = {
    {"begin", monitor_open<&RequestMonitor::begin>, METH_O, "begin(route) -> ServedRequest"},
    {"enqueue", monitor_open<&RequestMonitor::enqueue>, METH_O,
     "enqueue(route) -> ServedRequest, which waits for its turn first"},
    {"stats_json", monitor_stats, METH_NOARGS, "stats_json() -> str"},
    {"prometheus_text", monitor_text, METH_NOARGS, "prometheus_text() -> str"},
    {"response_headers", monitor_headers, METH_O, "response_headers(request) -> list of pairs"},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot monitor_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(monitor_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(holder_dealloc<RequestMonitor>)},
    {Py_tp_methods, monitor_methods},
    {0, nullptr},
};
PyType_Spec monitor_spec = {"genscope._core.RequestMonitor", sizeof(Holder<RequestMonitor>), 0,
                            Py_TPFLAGS_DEFAULT, monitor_slots};

}  // namespace

bool add_request_monitor(PyObject* module) {
  PyObject* const served = PyType_FromModuleAndSpec(module, &served_spec, nullptr);
  PyObject* const monitor = PyType_FromModuleAndSpec(module, &monitor_spec, nullptr);
  if (served == nullptr || monitor == nullptr) return false;
  g_served = reinterpret_cast<PyTypeObject*>(served);
  Py_INCREF(served);
  return PyModule_AddObject(module, "ServedRequest", served) == 0 &&
         PyModule_AddObject(module, "RequestMonitor", monitor) == 0;
}

}  // namespace genscope::python
