// genscope._core.RequestMonitor and ServedRequest: the monitor of a service, for genscope.asgi.
#include <genscope/monitor.h>

#include <utility>

#include "monitors.h"

namespace genscope::python {
namespace {

using RequestMonitorObject = Holder<RequestMonitor>;
using ServedObject = Holder<ServedRequest>;

PyTypeObject* g_served = nullptr;
PyObject* g_spare_request = nullptr;  // a ServedRequest that has ended

PyObject* give_spare_request(PyObject*, PyObject* const*) noexcept {
  return another(g_spare_request).release();
}

// --- a request

PyObject* served_started(PyObject* self, PyObject*) {
  ServedObject::of(self).started();
  return none();
}
PyObject* served_waited(PyObject* self, PyObject* seconds) {
  const double value = PyFloat_AsDouble(seconds);
  if (value == -1.0 && PyErr_Occurred() != nullptr) return nullptr;
  ServedObject::of(self).waited(value);
  return none();
}
PyObject* served_first_byte(PyObject* self, PyObject*) {
  ServedObject::of(self).first_byte();
  return none();
}
PyObject* served_finish(PyObject* self, PyObject* args) {
  int status = 200;
  if (PyArg_ParseTuple(args, "|i", &status) == 0) return nullptr;
  ServedObject::of(self).finish(status);
  return none();
}
PyObject* served_fail(PyObject* self, PyObject* error_class) {
  std::string_view text;
  if (!text_of(error_class, text)) return nullptr;
  ServedObject::of(self).fail(text);
  return none();
}
PyObject* get_request_id(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(ServedObject::of(self).id());
}
PyObject* get_span_id(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(ServedObject::of(self).span_id());
}
PyObject* get_elapsed(PyObject* self, void*) {
  return PyFloat_FromDouble(ServedObject::of(self).elapsed_seconds());
}

Method served_methods[] = {
    recording<served_started>("started", METH_NOARGS, "It left the queue."),
    recording<served_waited>("waited", METH_O, "waited(seconds): before it came here."),
    recording<served_first_byte>("first_byte", METH_NOARGS,
                                 "Of its answer; later calls do nothing."),
    recording<served_finish>("finish", METH_VARARGS, "finish(http_status=200)"),
    recording<served_fail>("fail", METH_O, "fail(error_class)"),
    {},
};
Value served_properties[] = {
    recorded_value<get_request_id, DropId>("id",
                                           "Counts up within the monitor; 0 once it has ended."),
    recorded_value<get_span_id, DropId>("span_id", "0 while nothing is recorded."),
    value<get_elapsed>("elapsed_seconds", "0 once it has ended."),
    {},
};
Slot served_slots[] = {
    Slot::dealloc<ServedObject::dealloc>(),
    Slot(served_methods),
    Slot(served_properties),
    {},
};
constexpr TypeSpec served_spec = {"genscope._core.ServedRequest", sizeof(ServedObject),
                                  served_slots, kMadeHere};

// --- the monitor

PyObject* request_monitor_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
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
  return RequestMonitorObject::make(type, std::move(given));
}

template <ServedRequest (RequestMonitor::*kOpen)(std::string_view)>
PyObject* monitor_open(PyObject* self, PyObject* route) {
  std::string_view text;
  if (!text_of(route, text)) return nullptr;
  RequestMonitor& monitor = RequestMonitorObject::of(self);
  Ref object(ServedObject::make(g_served));
  if (object) ServedObject::of(object.get()) = (monitor.*kOpen)(text);
  return object.release();
}
PyObject* monitor_stats(PyObject* self, PyObject*) {
  return to_str(to_json(RequestMonitorObject::of(self).stats()));
}
PyObject* request_monitor_text(PyObject* self, PyObject*) {
  return to_str(RequestMonitorObject::of(self).prometheus_text());
}
PyObject* monitor_headers(PyObject* self, PyObject* request) {
  if (Py_TYPE(request) != g_served) {
    PyErr_SetString(PyExc_TypeError, "response_headers(request): of begin() or enqueue()");
    return nullptr;
  }
  Ref list(PyList_New(0));
  if (!list) return nullptr;
  for (const auto& [key, value] :
       RequestMonitorObject::of(self).response_headers(ServedObject::of(request))) {
    const Ref pair(Py_BuildValue("(ss)", key.c_str(), value.c_str()));
    if (!pair || PyList_Append(list.get(), pair.get()) != 0) return nullptr;
  }
  return list.release();
}

// While a request is answered, nothing of ours may fail.
PyObject* headers_or_none(PyObject* self, PyObject* request) {
  try {
    PyObject* const list = monitor_headers(self, request);
    if (list != nullptr || PyErr_ExceptionMatches(PyExc_MemoryError) == 0) return list;
  } catch (const std::bad_alloc&) {
  }
  PyErr_Clear();
  return PyTuple_New(0);
}

Method request_monitor_methods[] = {
    recording<monitor_open<&RequestMonitor::begin>, Drop<give_spare_request, 1, 0>>(
        "begin", METH_O, "begin(route) -> ServedRequest"),
    recording<monitor_open<&RequestMonitor::enqueue>, Drop<give_spare_request, 1, 0>>(
        "enqueue", METH_O, "enqueue(route) -> ServedRequest, which waits for its turn first"),
    reading<monitor_stats>("stats_json", METH_NOARGS, "stats_json() -> str"),
    reading<request_monitor_text>("prometheus_text", METH_NOARGS, "prometheus_text() -> str"),
    reading<headers_or_none>("response_headers", METH_O,
                             "response_headers(request) -> pairs; none without memory"),
    {},
};
Slot request_monitor_slots[] = {
    Slot::made<request_monitor_new, RequestMonitorObject>(),
    Slot::dealloc<RequestMonitorObject::dealloc>(),
    Slot(request_monitor_methods),
    {},
};
constexpr TypeSpec request_monitor_spec = {"genscope._core.RequestMonitor",
                                           sizeof(RequestMonitorObject), request_monitor_slots};

}  // namespace

bool add_request_monitor(PyObject* module) {
  g_served = make_type(module, served_spec);
  if (g_served == nullptr || (g_spare_request = ServedObject::make(g_served)) == nullptr)
    return false;
  return PyModule_AddObject(module, "ServedRequest",
                            another(reinterpret_cast<PyObject*>(g_served)).release()) == 0 &&
         add_type(module, request_monitor_spec, "RequestMonitor");
}

}  // namespace genscope::python
