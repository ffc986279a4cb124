// Events, counters, detached spans and the switches of the recorder.
#include "recording.h"

#include <iterator>

#include "arguments.h"
#include "entry.h"
#include "open_spans.h"
#include "span.h"

namespace genscope::python {
namespace {

bool id_of(PyObject* object, std::uint64_t& id) noexcept {
  id = PyLong_AsUnsignedLongLong(object);
  return PyErr_Occurred() == nullptr;
}

// An event in the span that is open here. It holds four arguments; more go into further ones of
// the same name: readers take the arguments of all.
class Telling {
 public:
  explicit Telling(std::string_view name) noexcept
      : name_(name), task_(loop_is_running() ? current_in_task() : 0) {}

  void add(PyObject* key, PyObject* value) noexcept {
    if (!make_argument(key, value, pairs_[count_])) return;
    if (++count_ == std::size(pairs_)) put();
  }
  void finish() noexcept {
    if (count_ > 0 || !told_) put();
  }

 private:
  void put() noexcept {
    const auto& p = pairs_;
    if (count_ == 0) put({});
    if (count_ == 1) put({p[0].arg});
    if (count_ == 2) put({p[0].arg, p[1].arg});
    if (count_ == 3) put({p[0].arg, p[1].arg, p[2].arg});
    if (count_ == 4) put({p[0].arg, p[1].arg, p[2].arg, p[3].arg});
    count_ = 0;
    told_ = true;
  }
  void put(Args args) const noexcept {
    task_ != 0 ? event(Handle(task_), name_, args) : event(name_, args);
  }

  std::string_view name_;
  std::uint64_t task_;  // 0: of the thread
  Pair pairs_[4];
  std::size_t count_ = 0;
  bool told_ = false;
};

PyObject* record_event(PyObject*, PyObject* const* args, Py_ssize_t count,
                       PyObject* names) noexcept {
  std::string_view text;
  if (!arity(count, 1, 1,
             "give one name, then arguments by keyword: event(\"image_ready\", bytes=48213)") ||
      !text_of(args[0], text)) {
    return nullptr;
  }
  Telling telling(text);
  const Py_ssize_t keywords = names != nullptr ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; ++i) telling.add(PyTuple_GetItem(names, i), args[1 + i]);
  telling.finish();
  return none();
}

PyObject* record_counter(PyObject*, PyObject* const* args, Py_ssize_t count) noexcept {
  std::string_view text;
  if (!arity(count, 2, 2, "give a name and a number: counter(\"loss\", 0.25)") ||
      !text_of(args[0], text)) {
    return nullptr;
  }
  const double value = PyFloat_AsDouble(args[1]);
  if (value == -1.0 && PyErr_Occurred() != nullptr) return nullptr;
  counter(text, value);
  return none();
}

// begin_detached(kind, name, parent=0, track=0, /, **args) -> int
PyObject* open_detached(PyObject*, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) noexcept {
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
  Site* const site = site_or_none(kind, text);
  const Handle span = site != nullptr ? begin(*site, under) : begin(kind, text, under);
  put_keywords(span, args + count, names);
  PyObject* const number = PyLong_FromUnsignedLongLong(span.id());
  if (number == nullptr) end(span);  // nobody could end it
  return number;
}

PyObject* close_detached(PyObject*, PyObject* const* args, Py_ssize_t count) noexcept {
  std::uint64_t id = 0;
  if (!arity(count, 1, 2, "end_detached(id, failed=False, /)") || !id_of(args[0], id)) {
    return nullptr;
  }
  const int failed = count > 1 ? PyObject_IsTrue(args[1]) : 0;
  if (failed < 0) return nullptr;
  failed != 0 ? end_failed(Handle(id)) : end(Handle(id));
  return none();
}

PyObject* set_arguments(PyObject*, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) noexcept {
  std::uint64_t id = 0;
  if (!arity(count, 1, 1, "args(id, /, **args)\n--\n\nArguments of an open span.") ||
      !id_of(args[0], id))
    return nullptr;
  put_keywords(Handle(id), args + 1, names);
  return none();
}

PyObject* set_device_time(PyObject*, PyObject* const* args, Py_ssize_t count) noexcept {
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

PyObject* new_track(PyObject*, PyObject* name) noexcept {
  std::string_view text;
  return text_of(name, text) ? PyLong_FromUnsignedLong(Track(text).id()) : nullptr;
}

PyObject* set_thread_name(PyObject*, PyObject* name) noexcept {
  std::string_view text;
  if (!text_of(name, text)) return nullptr;
  name_thread(text);
  return none();
}

PyObject* set_recording(PyObject*, PyObject* on) noexcept {
  const int truth = PyObject_IsTrue(on);
  if (truth < 0) return nullptr;
  set_enabled(truth != 0);
  return none();
}

PyObject* is_recording(PyObject*, PyObject*) noexcept { return PyBool_FromLong(enabled() ? 1 : 0); }
PyObject* current_span(PyObject*, PyObject*) noexcept {
  return PyLong_FromUnsignedLongLong(current());
}

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
                       "dropped_spans", static_cast<unsigned long long>(stats.dropped_spans),
                       "dropped_records", static_cast<unsigned long long>(stats.dropped_records),
                       "bytes_written", static_cast<unsigned long long>(stats.bytes_written),
                       "threads", static_cast<unsigned long long>(stats.threads), "sessions",
                       g_sessions.load());
}

// allocator_stats(device, dict, /): keys as in AllocatorStats; others and None are ignored.
PyObject* record_allocator(PyObject*, PyObject* const* args, Py_ssize_t count) noexcept {
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

// What help() shows. The examples are run by python/tests/doc_test.py.
constexpr char kEventDoc[] = R"(event(name, /, **args)
--

An instant with a name, on the timeline of the calling thread.

>>> gs.event("image_ready", bytes=48213)
)";
constexpr char kCounterDoc[] = R"(counter(name, value, /)
--

A value over time. Each name becomes a chart.

>>> gs.counter("loss", 0.25)
)";
constexpr char kNameThreadDoc[] = R"(name_thread(name, /)
--

Names the calling thread in reports.

>>> gs.name_thread("decoder")
)";
constexpr char kSetEnabledDoc[] = R"(set_enabled(on, /)
--

Turns recording off and on again, for all threads.

>>> gs.set_enabled(False)             # what follows is not recorded
>>> gs.set_enabled(True)
)";
constexpr char kEnabledDoc[] = R"(enabled()
--

Whether recording is switched on. It is, until set_enabled(False).

>>> gs.enabled()
True
)";
constexpr char kCurrentDoc[] = R"(current()
--

The id of the innermost open span; 0 if there is none.

>>> gs.current()
0
)";
constexpr char kFlushDoc[] = R"(flush()
--

Writes what was recorded until now. A reader sees it anyway; a crash loses nothing.

>>> gs.flush()
)";
constexpr char kStatsDoc[] = R"(stats()
--

Figures of the recorder: how many spans it recorded and dropped, and why.

>>> gs.stats()["dropped_spans"]
0
)";

constexpr int kCall = METH_FASTCALL | METH_KEYWORDS;
Method functions[] = {
    recording<record_event>("event", kCall, kEventDoc),
    recording<record_counter>("counter", METH_FASTCALL, kCounterDoc),
    recording<open_detached, DropSpan>(
        "begin_detached", kCall, "begin_detached(kind, name, parent=0, track=0, /, **args) -> int"),
    recording<close_detached>("end_detached", METH_FASTCALL,
                              "end_detached(id, failed=False, /)\n--\n\n"),
    recording<set_arguments>("args", kCall,
                             "args(id, /, **args)\n--\n\nArguments of an open span."),
    recording<set_device_time>("device_time", METH_FASTCALL,
                               "device_time(id, duration_ns, begin_ns=-1, /)"),
    recording<new_track, DropId>("track", METH_O,
                                 "track(name, /)\n--\n\nThe id of a track of its own."),
    recording<set_thread_name>("name_thread", METH_O, kNameThreadDoc),
    recording<set_recording>("set_enabled", METH_O, kSetEnabledDoc),
    reading<is_recording>("enabled", METH_NOARGS, kEnabledDoc),
    recording<current_span, DropId>("current", METH_NOARGS, kCurrentDoc),
    recording<flush_all>("flush", METH_NOARGS, kFlushDoc),
    reading<recorder_figures>("stats", METH_NOARGS, kStatsDoc),
    recording<record_allocator>("allocator_stats", METH_FASTCALL,
                                "allocator_stats(device, figures)"),
    {},
};

}  // namespace

void tell_event(std::string_view name, PyObject* dict) noexcept {
  Telling telling(name);
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) telling.add(key, value);
  telling.finish();
}

bool add_recording(PyObject* module) { return add_functions(module, functions); }

}  // namespace genscope::python
