#include "span.h"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <genscope/c.h>
#include <genscope/trace.h>

#include "arguments.h"
#include "open_spans.h"

namespace genscope::python {

OnSpan g_on_begin = nullptr, g_on_end = nullptr;

namespace {

// How one `with` block was opened.
struct Entry {
  Opened opened;
  const void* thread = nullptr;  // who opened it: an address that only that thread has
  bool in_task = false;
};

struct SpanObject {
  PyObject_HEAD Site* site;  // null: `name` is looked up at each begin
  std::string* name;         // owned; null if there is a site
  PyObject* args;            // owned dict, or null
  std::int64_t index;        // of a step or block
  Entry entry;               // of the block that is open; entry.thread null: none is
  std::vector<Entry>* more;  // of further ones: the object is shared, or the block recursive
  SpanKind kind;
  bool numbered;
};

PyTypeObject* g_type = nullptr;
PyObject* g_cache[16];  // by kind: {name: Span}

// Around the entries of objects, where no GIL does it; never held while Python is called.
#if defined(Py_GIL_DISABLED)
std::mutex g_entries;
struct EntriesLock : std::unique_lock<std::mutex> {
  EntriesLock() : std::unique_lock<std::mutex>(g_entries) {}
};
#else
struct EntriesLock {
  void lock() noexcept {}
  void unlock() noexcept {}
};
#endif

SpanObject* self_of(PyObject* object) noexcept { return reinterpret_cast<SpanObject*>(object); }

const void* this_thread() noexcept { return &t_loop; }

std::string_view name_of(const SpanObject* self) noexcept {
  return self->site != nullptr ? std::string_view(self->site->name) : std::string_view(*self->name);
}

std::uint64_t begin_scoped_span(SpanObject* self) noexcept {
  if (self->numbered) [[unlikely]] {
    return self->kind == SpanKind::step ? gs_begin_step(self->index) : gs_begin_block(self->index);
  }
  if (self->site != nullptr) [[likely]]
    return internal::begin(*self->site);
  return begin_scoped(self->kind, *self->name).id();
}

// Everything that the common case does without: tasks, arguments, shared objects, device time.
[[gnu::noinline, gnu::cold]] bool open_slowly(SpanObject* self, Entry& entry) noexcept {
  entry.thread = this_thread();
  entry.in_task = loop_is_running();
  if (entry.in_task) {
    entry.opened = open_in_task(self->kind, name_of(self));
    if (self->numbered) Handle(entry.opened.id).arg("index", self->index);
  } else {
    entry.opened.id = begin_scoped_span(self);
    if (entry.opened.id != 0) push(entry.opened.id);
  }
  if (entry.opened.id == 0) return true;
  if (g_on_begin != nullptr) g_on_begin(entry.opened.id, self->kind);
  return put_arguments(Handle(entry.opened.id), self->args);
}

// The block that this exit belongs to: of the task, else of the thread, the latest.
[[gnu::noinline, gnu::cold]] Entry take_shared(SpanObject* self, std::uint64_t task) noexcept {
  const void* const thread = this_thread();
  const auto fits = [&](const Entry& entry) {
    return entry.in_task ? entry.opened.id == task : entry.thread == thread;
  };
  std::vector<Entry>& more = *self->more;
  for (std::size_t i = more.size(); i-- > 0;) {
    if (!fits(more[i])) continue;
    const Entry found = more[i];
    more.erase(more.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  const Entry found = self->entry;
  self->entry = Entry{};
  if (!more.empty()) {
    self->entry = more.front();
    more.erase(more.begin());
  }
  return found;
}

PyObject* span_enter(PyObject* object, PyObject*) {
  SpanObject* const self = self_of(object);
  EntriesLock lock;
  Py_INCREF(object);
  if (self->entry.thread == nullptr && !loop_may_run() && self->args == nullptr &&
      g_on_begin == nullptr) [[likely]] {
    const std::uint64_t id = begin_scoped_span(self);
    self->entry.opened.id = id;
    self->entry.in_task = false;
    self->entry.thread = this_thread();
    if (id != 0) push(id);
    return object;
  }
  lock.unlock();
  Entry entry;
  if (!open_slowly(self, entry)) {
    Py_DECREF(object);
    return nullptr;
  }
  lock.lock();
  if (self->entry.thread == nullptr) {
    self->entry = entry;
  } else {
    if (self->more == nullptr) self->more = new std::vector<Entry>;
    self->more->push_back(entry);
  }
  return object;
}

// Ends of generators are no failures.
bool is_failure(PyObject* type) noexcept {
  if (type == Py_None) return false;
  return PyErr_GivenExceptionMatches(type, PyExc_GeneratorExit) == 0 &&
         PyErr_GivenExceptionMatches(type, PyExc_StopIteration) == 0 &&
         PyErr_GivenExceptionMatches(type, PyExc_StopAsyncIteration) == 0;
}

[[gnu::noinline, gnu::cold]] void close_slowly(SpanObject* self, Entry& entry,
                                               PyObject* type) noexcept {
  const bool failed = is_failure(type);
  const std::uint64_t id = entry.opened.id;
  if (id != 0) {
    if (failed) {
      const Ref name(PyObject_GetAttrString(type, "__name__"));
      std::string_view text;
      if (name && text_of(name.get(), text)) Handle(id).arg("error", text);
      PyErr_Clear();
    }
    if (g_on_end != nullptr) g_on_end(id, self->kind);
  }
  if (entry.in_task) return close_in_task(entry.opened, failed);
  if (id == 0) return;
  failed ? end_failed(Handle(id)) : end(Handle(id));
  pop(id);
}

PyObject* span_exit(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  SpanObject* const self = self_of(object);
  PyObject* const type = count > 0 ? args[0] : Py_None;
  EntriesLock lock;
  if (self->more == nullptr && !self->entry.in_task && type == Py_None && g_on_end == nullptr)
      [[likely]] {
    const std::uint64_t id = self->entry.opened.id;
    self->entry.thread = nullptr;
    if (id != 0) {
      internal::end(id);
      pop(id);
    }
    return none();
  }
  lock.unlock();
  const std::uint64_t task = self->more != nullptr && loop_is_running() ? current_in_task() : 0;
  lock.lock();
  Entry entry = self->more != nullptr && !self->more->empty() ? take_shared(self, task)
                                                              : std::exchange(self->entry, Entry{});
  lock.unlock();
  close_slowly(self, entry, type);
  return none();
}

// --- making them

// `name`: where there is no site.
PyObject* new_span(SpanKind kind, Site* site, std::string_view name = {}) noexcept {
  SpanObject* const self = PyObject_New(SpanObject, g_type);
  if (self == nullptr) return nullptr;
  self->site = site;
  self->name = nullptr;
  self->args = nullptr;
  self->index = 0;
  self->entry = Entry{};
  self->more = nullptr;
  self->kind = kind;
  self->numbered = false;
  if (site == nullptr) self->name = new std::string(name);
  return reinterpret_cast<PyObject*>(self);
}

void span_dealloc(PyObject* object) {
  SpanObject* const self = self_of(object);
  delete self->name;
  delete self->more;
  Py_XDECREF(self->args);
  Py_XDECREF(self->entry.opened.before);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

// A Span of that name that nobody else holds: the one in the cache, or a new one.
PyObject* span_named(SpanKind kind, PyObject* name) noexcept {
  PyObject*& cache = g_cache[static_cast<std::size_t>(kind)];
#if !defined(Py_GIL_DISABLED)
  PyObject* const known = PyDict_GetItemWithError(cache, name);
  if (known != nullptr && Py_REFCNT(known) == 1) [[likely]] {
    Py_INCREF(known);
    return known;
  }
  if (known != nullptr) return new_span(kind, self_of(known)->site);
  if (PyErr_Occurred() != nullptr) return nullptr;
#endif
  std::string_view text;
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "the name of a span is a str");
    return nullptr;
  }
  if (!text_of(name, text)) return nullptr;
  Site* const site = site_of(kind, text);
  PyObject* const made = new_span(kind, site, text);
#if !defined(Py_GIL_DISABLED)
  if (made != nullptr && site != nullptr && PyDict_SetItem(cache, name, made) != 0) PyErr_Clear();
#endif
  return made;
}

PyObject* with_keywords(PyObject* span, PyObject* const* values, PyObject* names) noexcept {
  if (span == nullptr || names == nullptr || PyTuple_Size(names) == 0) return span;
  Ref fresh(new_span(self_of(span)->kind, self_of(span)->site, name_of(self_of(span))));
  if (fresh) {
    SpanObject* const self = self_of(fresh.get());
    self->index = self_of(span)->index;
    self->numbered = self_of(span)->numbered;
    self->args = PyDict_New();
    for (Py_ssize_t i = 0; self->args != nullptr && i < PyTuple_Size(names); ++i) {
      if (PyDict_SetItem(self->args, PyTuple_GetItem(names, i), values[i]) != 0) break;
    }
  }
  Py_DECREF(span);
  return PyErr_Occurred() != nullptr ? nullptr : fresh.release();
}

template <SpanKind kKind>
PyObject* make_named(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  if (count != 1) {
    PyErr_SetString(PyExc_TypeError, "one name, then arguments by keyword");
    return nullptr;
  }
  PyObject* const span = span_named(kKind, args[0]);
  return names == nullptr ? span : with_keywords(span, args + 1, names);
}

template <SpanKind kKind>
PyObject* make_numbered(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  const std::int64_t index = count == 1 ? PyLong_AsLongLong(args[0]) : -1;
  if (count != 1 || (index == -1 && PyErr_Occurred() != nullptr)) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_TypeError, "one number, then arguments by keyword");
    }
    return nullptr;
  }
  PyObject* const span = new_span(kKind, kKind == SpanKind::step ? &step_site : &block_site);
  if (span == nullptr) return nullptr;
  self_of(span)->index = index;
  self_of(span)->numbered = true;
  return names == nullptr ? span : with_keywords(span, args + 1, names);
}

// span(name, kind="function", **args)
PyObject* make_any(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  SpanKind kind = SpanKind::function;
  if (count < 1 || count > 2) {
    PyErr_SetString(PyExc_TypeError, "span(name, kind='function', /, **args)");
    return nullptr;
  }
  if (count == 2 && !kind_of(args[1], kind)) return nullptr;
  PyObject* const span = span_named(kind, args[0]);
  return names == nullptr ? span : with_keywords(span, args + count, names);
}

// --- by hand

// begin(name, kind="stage", /, **args) -> int
PyObject* begin_by_hand(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  SpanKind kind = SpanKind::stage;
  if (count < 1 || count > 2) {
    PyErr_SetString(PyExc_TypeError, "begin(name, kind='stage', /, **args)");
    return nullptr;
  }
  if (count == 2 && !kind_of(args[1], kind)) return nullptr;
  PyObject* const known = PyDict_GetItemWithError(g_cache[static_cast<std::size_t>(kind)], args[0]);
  Site* site = known != nullptr ? self_of(known)->site : nullptr;
  std::string_view text;
  if (known == nullptr) {
    PyErr_Clear();
    if (!text_of(args[0], text)) return nullptr;
    const Ref span(span_named(kind, args[0]));  // for the next time
    if (!span) return nullptr;
    site = self_of(span.get())->site;
  }
  std::uint64_t id = 0;
  if (loop_is_running()) {
    Opened opened = open_in_task(kind, site != nullptr ? std::string_view(site->name) : text);
    id = opened.id;
    keep(opened);
  } else {
    id = site != nullptr ? internal::begin(*site) : begin_scoped(kind, text).id();
    if (id != 0) push(id);
  }
  if (id != 0) {
    if (g_on_begin != nullptr) g_on_begin(id, kind);
    if (names != nullptr && !put_keywords(Handle(id), args + count, names)) return nullptr;
  }
  return PyLong_FromUnsignedLongLong(id);
}

// end(id=None, failed=False, /): without an id, the innermost span of begin() or `with`.
PyObject* end_by_hand(PyObject*, PyObject* const* args, Py_ssize_t count) {
  std::uint64_t id = 0;
  if (count > 0 && args[0] != Py_None) {
    id = PyLong_AsUnsignedLongLong(args[0]);
    if (PyErr_Occurred() != nullptr) return nullptr;
  } else {
    id = current();
  }
  const int failed = count > 1 ? PyObject_IsTrue(args[1]) : 0;
  if (failed < 0) return nullptr;
  if (id == 0) return none();
  if (g_on_end != nullptr) g_on_end(id, SpanKind::stage);
  if (Opened opened = take_kept(id); opened.id != 0) {
    close_in_task(opened, failed != 0);
    return none();
  }
  if (failed != 0) {
    end_failed(Handle(id));
  } else {
    internal::end(id);
  }
  pop(id);
  return none();
}

// --- the type

PyObject* span_arg(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "arg(key, value)");
    return nullptr;
  }
  Arg arg("", 0);
  const Took took = make_argument(args[0], args[1], arg);
  if (took == Took::failed) return nullptr;
  if (took == Took::yes) Handle(self_of(object)->entry.opened.id).arg(arg);
  return none();
}

PyObject* get_name(PyObject* object, void*) { return to_str(name_of(self_of(object))); }
PyObject* get_kind(PyObject* object, void*) { return to_str(name(self_of(object)->kind)); }
PyObject* get_id(PyObject* object, void*) {
  const SpanObject* const self = self_of(object);
  return PyLong_FromUnsignedLongLong(self->entry.thread != nullptr ? self->entry.opened.id : 0);
}
PyObject* span_repr(PyObject* object) {
  const Ref text(to_str(name_of(self_of(object))));
  const Ref kind(to_str(name(self_of(object)->kind)));
  return text && kind ? PyUnicode_FromFormat("<genscope.Span %U %R>", kind.get(), text.get())
                      : nullptr;
}

PyMethodDef methods[] = {
    {"__enter__", span_enter, METH_NOARGS, nullptr},
    {"__exit__", as_function(span_exit), METH_FASTCALL, nullptr},
    {"arg", as_function(span_arg), METH_FASTCALL,
     "arg(key, value): an argument of the span that is open."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef properties[] = {
    {"name", get_name, nullptr, nullptr, nullptr},
    {"kind", get_kind, nullptr, nullptr, nullptr},
    {"id", get_id, nullptr, "Of the span that is open, for begin_detached(); 0: not recorded.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(span_dealloc)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_repr, reinterpret_cast<void*>(span_repr)},
    {0, nullptr},
};
PyType_Spec spec = {"genscope.Span", sizeof(SpanObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

PyMethodDef functions[] = {
    {"span", as_function(make_any), METH_FASTCALL | METH_KEYWORDS,
     "span(name, kind='function', /, **args)"},
    {"stage", as_function(make_named<SpanKind::stage>), METH_FASTCALL | METH_KEYWORDS,
     "stage(name, /, **args)"},
    {"loading", as_function(make_named<SpanKind::load>), METH_FASTCALL | METH_KEYWORDS,
     "loading(name, /, **args)"},
    {"forward", as_function(make_named<SpanKind::forward>), METH_FASTCALL | METH_KEYWORDS,
     "forward(name, /, **args)"},
    {"request", as_function(make_named<SpanKind::request>), METH_FASTCALL | METH_KEYWORDS,
     "request(name, /, **args)"},
    {"batch", as_function(make_named<SpanKind::batch>), METH_FASTCALL | METH_KEYWORDS,
     "batch(name, /, **args)"},
    {"epoch", as_function(make_named<SpanKind::epoch>), METH_FASTCALL | METH_KEYWORDS,
     "epoch(name, /, **args)"},
    {"task", as_function(make_named<SpanKind::task>), METH_FASTCALL | METH_KEYWORDS,
     "task(name, /, **args)"},
    {"step", as_function(make_numbered<SpanKind::step>), METH_FASTCALL | METH_KEYWORDS,
     "step(index, /, **args)"},
    {"block", as_function(make_numbered<SpanKind::block>), METH_FASTCALL | METH_KEYWORDS,
     "block(index, /, **args)"},
    {"begin", as_function(begin_by_hand), METH_FASTCALL | METH_KEYWORDS,
     "begin(name, kind='stage', /, **args) -> int"},
    {"end", as_function(end_by_hand), METH_FASTCALL, "end(id=None, failed=False, /)"},
    {nullptr, nullptr, 0, nullptr},
};

constexpr std::string_view kKinds[] = {"none",    "session", "load",  "stage", "step", "block",
                                       "forward", "request", "batch", "epoch", "task", "function"};

}  // namespace

bool kind_of(PyObject* object, SpanKind& kind) noexcept {
  std::string_view text;
  if (!text_of(object, text)) return false;
  for (std::size_t i = 1; i < std::size(kKinds); ++i) {
    if (kKinds[i] != text) continue;
    kind = static_cast<SpanKind>(i);
    return true;
  }
  PyErr_Format(PyExc_ValueError,
               "%R is no kind of span; there are session, load, stage, step, block, forward, "
               "request, batch, epoch, task and function",
               object);
  return false;
}

Site* site_of(SpanKind kind, std::string_view name) noexcept {
  struct Owned {
    std::string name;
    Site site;
    Owned(std::string_view text, SpanKind of) : name(text), site{name.c_str(), of, {0}} {}
  };
  // For ever: spans of other threads may use them while this one exits.
  static auto* const mutex = new std::mutex;
  static auto* const sites = new std::unordered_map<std::string, std::unique_ptr<Owned>>[16];
  static std::size_t count = 0;
  const std::lock_guard lock(*mutex);
  auto& of_kind = sites[static_cast<std::size_t>(kind)];
  const auto found = of_kind.find(std::string(name));
  if (found != of_kind.end()) return &found->second->site;
  if (count >= kMaxSites || name.size() > kMaxNameBytes ||
      name.find('\0') != std::string_view::npos) {
    return nullptr;
  }
  count++;
  return &of_kind.emplace(std::string(name), std::make_unique<Owned>(name, kind))
              .first->second->site;
}

PyObject* stage_span(PyObject* name) noexcept { return span_named(SpanKind::stage, name); }

std::uint64_t enter_span(PyObject* span) noexcept {
  const Ref same(span_enter(span, nullptr));
  if (!same) PyErr_Clear();
  return self_of(span)->entry.opened.id;
}

void exit_span(PyObject* span, PyObject* type) noexcept {
  const Ref nothing(span_exit(span, &type, 1));
  if (!nothing) PyErr_Clear();
}

bool add_spans(PyObject* module) {
  for (PyObject*& cache : g_cache) {
    if (cache == nullptr && (cache = PyDict_New()) == nullptr) return false;
  }
  PyObject* const type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  if (type == nullptr) return false;
  g_type = reinterpret_cast<PyTypeObject*>(type);
  Py_INCREF(type);
  return PyModule_AddObject(module, "Span", type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0 && add_open_spans(module);
}

}  // namespace genscope::python
