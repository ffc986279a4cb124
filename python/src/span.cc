#include "span.h"

#include <new>
#include <string>
#include <vector>

#include <genscope/c.h>
#include <genscope/record.h>
#include <genscope/trace.h>

#include "arguments.h"
#include "open_spans.h"
#include "span_object.h"

#if defined(Py_GIL_DISABLED)
#include <mutex>
#endif

namespace genscope::python {

OnSpan g_on_begin = nullptr, g_on_end = nullptr;

PyTypeObject* g_span_type = nullptr;

namespace {

PyObject* g_spare = nullptr;  // a Span without a name, whose `args` keep it off the fast path

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

const void* this_thread() noexcept { return &t_loop; }

std::uint64_t begin_scoped_span(SpanObject* self) noexcept {
  if (self->numbered) [[unlikely]] {
    return self->kind == SpanKind::step ? gs_begin_step(self->index) : gs_begin_block(self->index);
  }
  if (self->site != nullptr) [[likely]]
    return internal::begin(*self->site);
  return begin_scoped(self->kind, name_of(self)).id();
}

// Everything that the common case does without: tasks, arguments, shared objects, device time.
Entry open_slowly(SpanObject* self) noexcept {
  Entry entry;
  entry.thread = this_thread();
  entry.in_task = loop_is_running();
  if (entry.in_task) {
    entry.opened = open_in_task(self->kind, name_of(self));
    if (self->numbered) Handle(entry.opened.id).arg("index", self->index);
  } else {
    entry.opened.id = begin_scoped_span(self);
    if (entry.opened.id != 0) push(entry.opened.id);
  }
  if (entry.opened.id == 0) return entry;
  if (g_on_begin != nullptr) g_on_begin(entry.opened.id, self->kind);
  put_arguments(Handle(entry.opened.id), self->args);
  return entry;
}

// Ends of generators are no failures.
bool is_failure(PyObject* type) noexcept {
  if (type == Py_None) return false;
  return PyErr_GivenExceptionMatches(type, PyExc_GeneratorExit) == 0 &&
         PyErr_GivenExceptionMatches(type, PyExc_StopIteration) == 0 &&
         PyErr_GivenExceptionMatches(type, PyExc_StopAsyncIteration) == 0;
}

void close_slowly(SpanObject* self, Entry& entry, PyObject* type) noexcept {
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

// False: there is no memory to remember it by.
bool list(SpanObject* self, const Entry& entry) noexcept {
  if (self->entry.thread == nullptr) {
    self->entry = entry;
    return true;
  }
  self->shared = true;
  try {
    if (internal::may_throw()) {
      if (self->more == nullptr) self->more = new std::vector<Entry>;
      self->more->push_back(entry);
      return true;
    }
  } catch (...) {
  }
  self->unlisted++;
  return false;
}

[[gnu::noinline, gnu::cold]] void enter_slowly(SpanObject* self) noexcept {
  if (self == self_of(g_spare)) return internal::count_lost(1, 0);
  Entry entry = open_slowly(self);
  EntriesLock lock;
  if (list(self, entry)) return;
  lock.unlock();
  close_slowly(self, entry, Py_None);
  internal::count_lost(1, 0);
}

PyObject* span_enter(PyObject* object, PyObject*) noexcept {
  SpanObject* const self = self_of(object);
  Py_INCREF(object);
  {
    [[maybe_unused]] EntriesLock lock;
    if (self->entry.thread == nullptr && !loop_may_run() && self->args == nullptr &&
        g_on_begin == nullptr) [[likely]] {
      const std::uint64_t id = begin_scoped_span(self);
      self->entry.opened.id = id;
      self->entry.in_task = false;
      self->entry.thread = this_thread();
      if (id != 0) push(id);
      return object;
    }
  }
  enter_slowly(self);
  return object;
}

// The block that this exit belongs to: of the task, else of the thread, the latest.
Entry take_shared(SpanObject* self, std::uint64_t task) noexcept {
  if (self->unlisted > 0) {
    self->unlisted--;
    return Entry{};
  }
  if (self->more == nullptr || self->more->empty()) return std::exchange(self->entry, Entry{});
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
  self->entry = more.front();
  more.erase(more.begin());
  return found;
}

[[gnu::noinline, gnu::cold]] void exit_slowly(SpanObject* self, PyObject* type) noexcept {
  const std::uint64_t task = self->shared && loop_is_running() ? current_in_task() : 0;
  EntriesLock lock;
  Entry entry = take_shared(self, task);
  lock.unlock();
  close_slowly(self, entry, type);
}

PyObject* span_exit(PyObject* object, PyObject* const* args, Py_ssize_t count) noexcept {
  SpanObject* const self = self_of(object);
  PyObject* const type = count > 0 ? args[0] : Py_None;
  {
    [[maybe_unused]] EntriesLock lock;
    if (!self->shared && !self->entry.in_task && type == Py_None && g_on_end == nullptr)
        [[likely]] {
      const std::uint64_t id = self->entry.opened.id;
      self->entry.thread = nullptr;
      if (id != 0) {
        internal::end(id);
        pop(id);
      }
      return none();
    }
  }
  exit_slowly(self, type);
  return none();
}

void span_dealloc(PyObject* object) noexcept {
  SpanObject* const self = self_of(object);
  delete self->more;
  Py_XDECREF(self->name);
  Py_XDECREF(self->args);
  Py_XDECREF(self->entry.opened.before);
  PyTypeObject* const type = Py_TYPE(object);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyObject* span_arg(PyObject* object, PyObject* const* args, Py_ssize_t count) noexcept {
  if (!arity(count, 2, 2, "arg(key, value)")) return nullptr;
  if (!PyUnicode_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError, "the key of an argument is a str");
    return nullptr;
  }
  Pair pair;
  if (make_argument(args[0], args[1], pair)) {
    Handle(self_of(object)->entry.opened.id).arg(pair.arg);
  }
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

constexpr char kSpanTypeDoc[] =
    R"(A named interval, for `with`. stage(), step(), span() and the others make one.

>>> with gs.stage("vae_decode") as span:
...     span.arg("tiles", 4)
)";

Method methods[] = {
    recording<span_enter, Drop<give_self>>("__enter__", METH_NOARGS),
    recording<span_exit>("__exit__", METH_FASTCALL),
    recording<span_arg>("arg", METH_FASTCALL,
                        "arg(key, value): an argument of the span that is open."),
    {},
};
Value properties[] = {
    value<get_name>("name", "What it is called."),
    value<get_kind>("kind", "stage, step, ..."),
    recorded_value<get_id, DropId>("id", "The id of the open span; 0 if it is not recorded."),
    {},
};
Slot slots[] = {
    Slot::dealloc<span_dealloc>(), Slot(methods),           Slot(properties),
    Slot::repr<span_repr>(),       Slot::doc(kSpanTypeDoc), {},
};
constexpr TypeSpec spec = {"genscope.Span", sizeof(SpanObject), slots, kMadeHere};

}  // namespace

std::string_view name_of(const SpanObject* self) noexcept {
  if (self->site != nullptr) return self->site->name;
  std::string_view text;
  if (self->name != nullptr && !text_of(self->name, text)) PyErr_Clear();
  return text;
}

PyObject* give_spare_span(PyObject*, PyObject* const*) noexcept {
  return another(g_spare).release();
}

std::uint64_t enter_span(PyObject* span) noexcept {
  const Ref same(span_enter(span, nullptr));
  return self_of(span)->entry.opened.id;
}

void exit_span(PyObject* span, PyObject* type) noexcept {
  const Ref nothing(span_exit(span, &type, 1));
}

bool add_spans(PyObject* module) {
  g_span_type = make_type(module, spec);
  if (g_span_type == nullptr) return false;
  g_spare = new_span(SpanKind::none, nullptr);
  if (g_spare == nullptr || (self_of(g_spare)->args = PyDict_New()) == nullptr) return false;
  return PyModule_AddObject(module, "Span",
                            another(reinterpret_cast<PyObject*>(g_span_type)).release()) == 0 &&
         add_span_functions(module) && add_open_spans(module);
}

}  // namespace genscope::python
