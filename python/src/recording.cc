// Events, counters, detached spans and the switches of the recorder.
#include "recording.h"

#include <vector>

#include "arguments.h"
#include "open_spans.h"
#include "span.h"

namespace genscope::python {
namespace {

bool id_of(PyObject* object, std::uint64_t& id) noexcept {
  id = PyLong_AsUnsignedLongLong(object);
  return PyErr_Occurred() == nullptr;
}

// Calls `record` with the keywords as Args.
template <class Record>
PyObject* with_arguments(PyObject* const* values, PyObject* names, Record&& record) {
  const Py_ssize_t count = names != nullptr ? PyTuple_Size(names) : 0;
  std::vector<Arg> args;
  args.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Arg arg("", 0);
    const Took took = make_argument(PyTuple_GetItem(names, i), values[i], arg);
    if (took == Took::failed) return nullptr;
    if (took == Took::yes) args.push_back(arg);
  }
  record(args);
  return none();
}

// Events take an initializer_list; what is more than one event holds goes into the next of the same
// name: readers take the arguments of all.
template <class Put>
void in_pieces(const std::vector<Arg>& args, Put&& put) {
  if (args.empty()) return put(Args{});
  for (std::size_t i = 0; i < args.size(); i += 4) {
    const std::size_t left = args.size() - i;
    if (left >= 4) put(Args{args[i], args[i + 1], args[i + 2], args[i + 3]});
    if (left == 3) put(Args{args[i], args[i + 1], args[i + 2]});
    if (left == 2) put(Args{args[i], args[i + 1]});
    if (left == 1) put(Args{args[i]});
  }
}

void put_event(std::string_view name, const std::vector<Arg>& args) {
  const std::uint64_t task = loop_is_running() ? current_in_task() : 0;
  in_pieces(args,
            [&](Args piece) { task != 0 ? event(Handle(task), name, piece) : event(name, piece); });
}

PyObject* record_event(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  std::string_view text;
  if (!arity(count, 1, 1, "event(name, /, **args)") || !text_of(args[0], text)) return nullptr;
  return with_arguments(args + 1, names,
                        [&](const std::vector<Arg>& list) { put_event(text, list); });
}

PyObject* record_counter(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::string_view text;
  if (!arity(count, 2, 2, "counter(name, value)") || !text_of(args[0], text)) return nullptr;
  const double value = PyFloat_AsDouble(args[1]);
  if (value == -1.0 && PyErr_Occurred() != nullptr) return nullptr;
  counter(text, value);
  return none();
}

// begin_detached(kind, name, parent=0, track=0, /, **args) -> int
PyObject* open_detached(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  SpanKind kind = SpanKind::none;
  std::string_view text;
  std::uint64_t parent = 0, track = 0;
  if (!arity(count, 2, 4, "begin_detached(kind, name, parent=0, track=0, /, **args)") ||
      !kind_of(args[0], kind) || !text_of(args[1], text) ||
      (count > 2 && !id_of(args[2], parent)) || (count > 3 && !id_of(args[3], track))) {
    return nullptr;
  }
  const Under under{.parent = Handle(parent),
                    .track = Track::from_id(static_cast<std::uint32_t>(track))};
  Site* const site = site_of(kind, text);
  const Handle span = site != nullptr ? begin(*site, under) : begin(kind, text, under);
  if (names != nullptr && !put_keywords(span, args + count, names)) return nullptr;
  return PyLong_FromUnsignedLongLong(span.id());
}

PyObject* close_detached(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::uint64_t id = 0;
  if (!arity(count, 1, 2, "end_detached(id, failed=False, /)") || !id_of(args[0], id)) {
    return nullptr;
  }
  const int failed = count > 1 ? PyObject_IsTrue(args[1]) : 0;
  if (failed < 0) return nullptr;
  failed != 0 ? end_failed(Handle(id)) : end(Handle(id));
  return none();
}

PyObject* set_arguments(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  std::uint64_t id = 0;
  if (!arity(count, 1, 1, "args(id, /, **args)") || !id_of(args[0], id)) return nullptr;
  return put_keywords(Handle(id), args + 1, names) ? none() : nullptr;
}

PyObject* set_device_time(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::uint64_t id = 0;
  if (!arity(count, 2, 3, "device_time(id, duration_ns, begin_ns=-1, /)") || !id_of(args[0], id)) {
    return nullptr;
  }
  const long long duration = PyLong_AsLongLong(args[1]);
  const long long begin = count > 2 ? PyLong_AsLongLong(args[2]) : -1;
  if (PyErr_Occurred() != nullptr) return nullptr;
  Handle(id).device_time(duration, begin);
  return none();
}

PyObject* new_track(PyObject*, PyObject* name) {
  std::string_view text;
  return text_of(name, text) ? PyLong_FromUnsignedLong(Track(text).id()) : nullptr;
}

PyObject* set_thread_name(PyObject*, PyObject* name) {
  std::string_view text;
  if (!text_of(name, text)) return nullptr;
  name_thread(text);
  return none();
}

PyObject* set_recording(PyObject*, PyObject* on) {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  set_enabled(truth != 0);
  return none();
}

PyObject* is_recording(PyObject*, PyObject*) { return PyBool_FromLong(enabled() ? 1 : 0); }
PyObject* current_span(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(current()); }

PyObject* flush_all(PyObject*, PyObject*) {
  {
    const WithoutGil released;
    flush();
  }
  return none();
}

PyObject* recorder_figures(PyObject*, PyObject*) {
  const RecorderStats stats = recorder_stats();
  return Py_BuildValue("{s:O,s:K,s:K,s:K,s:K,s:K}", "active", stats.active ? Py_True : Py_False,
                       "lost_spans", static_cast<unsigned long long>(stats.lost_spans),
                       "lost_records", static_cast<unsigned long long>(stats.lost_records),
                       "bytes_written", static_cast<unsigned long long>(stats.bytes_written),
                       "threads", static_cast<unsigned long long>(stats.threads), "sessions",
                       g_sessions.load());
}

// allocator_stats(device, dict, /): keys as in AllocatorStats; others and None are ignored.
PyObject* record_allocator(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::string_view device;
  if (!arity(count, 2, 2, "allocator_stats(device, figures)") || !text_of(args[0], device)) {
    return nullptr;
  }
  AllocatorStats stats;
  stats.device = device;
  const struct {
    const char* key;
    std::optional<std::uint64_t>* place;
  } fields[] = {{"requested_bytes", &stats.requested_bytes},
                {"allocated_bytes", &stats.allocated_bytes},
                {"active_bytes", &stats.active_bytes},
                {"reserved_bytes", &stats.reserved_bytes},
                {"inactive_split_bytes", &stats.inactive_split_bytes},
                {"retries", &stats.retries},
                {"ooms", &stats.ooms}};
  for (const auto& field : fields) {
    PyObject* const value = PyDict_GetItemString(args[1], field.key);
    if (value == nullptr || value == Py_None) continue;
    const std::uint64_t number = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred() != nullptr) return nullptr;
    *field.place = number;
  }
  allocator_stats(stats);
  return none();
}

PyMethodDef functions[] = {
    {"event", as_function(record_event), METH_FASTCALL | METH_KEYWORDS, "event(name, /, **args)"},
    {"counter", as_function(record_counter), METH_FASTCALL, "counter(name, value)"},
    {"begin_detached", as_function(open_detached), METH_FASTCALL | METH_KEYWORDS,
     "begin_detached(kind, name, parent=0, track=0, /, **args) -> int"},
    {"end_detached", as_function(close_detached), METH_FASTCALL,
     "end_detached(id, failed=False, /)"},
    {"args", as_function(set_arguments), METH_FASTCALL | METH_KEYWORDS, "args(id, /, **args)"},
    {"device_time", as_function(set_device_time), METH_FASTCALL,
     "device_time(id, duration_ns, begin_ns=-1, /)"},
    {"track", new_track, METH_O, "track(name) -> int"},
    {"name_thread", set_thread_name, METH_O, "name_thread(name)"},
    {"set_enabled", set_recording, METH_O, "set_enabled(on)"},
    {"enabled", is_recording, METH_NOARGS, "enabled() -> bool"},
    {"current", current_span, METH_NOARGS, "current() -> int"},
    {"flush", flush_all, METH_NOARGS, "flush()"},
    {"stats", recorder_figures, METH_NOARGS, "stats() -> dict"},
    {"allocator_stats", as_function(record_allocator), METH_FASTCALL,
     "allocator_stats(device, figures)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void tell_event(std::string_view name, PyObject* dict) noexcept {
  std::vector<Arg> args;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) {
    Arg arg("", 0);
    const Took took = make_argument(key, value, arg);
    if (took == Took::yes) args.push_back(arg);
    if (took == Took::failed) PyErr_Clear();
  }
  put_event(name, args);
}

bool add_recording(PyObject* module) { return PyModule_AddFunctions(module, functions) == 0; }

}  // namespace genscope::python
