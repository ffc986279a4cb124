// _core.StageBook: the figures of a session's stages, and the stages while they run.
//
// Each thread has a list of the stages that are open in it, innermost first; in an event loop each
// task has one, in a context variable. A stage is inside another one only if both are of the same
// list, and counts for it only if both are of the same book.
#include <algorithm>
#include <chrono>

#include <genscope/record.h>

#include "arguments.h"
#include "monitors.h"
#include "open_spans.h"
#include "plain.h"
#include "span.h"

namespace genscope::python {
namespace {

// Seconds of the calls of one name. `covered`: a call inside a call of the same name adds nothing.
struct Figures {
  unsigned long long count = 0, failed = 0;
  double total = 0, least = 0, most = 0, own = 0, covered = 0;
  PyObject* metadata = nullptr;  // owned: of the last call that had some

  Figures() = default;
  Figures(const Figures&) = delete;
  Figures& operator=(const Figures&) = delete;
  ~Figures() { Py_XDECREF(metadata); }
};
using FiguresObject = Holder<Figures>;

struct Book {
  Ref rows;          // {name: StageFigures}
  Ref current_task;  // () -> the task that runs here, or None
  Ref get, set;      // of the context variable that holds a task's innermost stage
  unsigned long long begun = 0, ended = 0;
  OwnMutex mutex = {};
};
using BookObject = Holder<Book>;

struct Stage {
  Ref book, name, metadata;
  Ref span = {};  // while it is open
  Ref task = {};  // null: of the thread
  // Stage objects: the next in the list, the one that it is inside of.
  Ref before = {}, around = {};
  double inside = 0;  // seconds of stages inside it
  std::int64_t begin_ns = 0;
  unsigned entered = 0;  // entries beyond the first are part of the first
  bool lost = false;     // ended by another thread: still in the list of the one that began it
};
using StageObject = Holder<Stage>;

PyTypeObject *g_figures = nullptr, *g_stage = nullptr;
PyObject* g_nothing = nullptr;                 // a Nothing, for stages that there is no memory for
thread_local PyObject* t_innermost = nullptr;  // owned Stage of this thread

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// --- the lists of open stages

// Into this thread's. Stages on top of it that another thread has ended are left behind.
void push_in_thread(PyObject* object, Stage& self) noexcept {
  while (t_innermost != nullptr && StageObject::of(t_innermost).entered == 0) {
    const Ref ended(t_innermost);
    StageObject::of(ended.get()).lost = false;
    t_innermost = StageObject::of(ended.get()).before.release();
  }
  self.before = Ref(t_innermost);
  t_innermost = another(object).release();
}

// Wherever in the list it is: generators end their stages in any order.
void remove_from_thread(PyObject* object, Stage& self) noexcept {
  if (t_innermost == object) {
    const Ref held(t_innermost);
    t_innermost = self.before.release();
    return;
  }
  for (PyObject* at = t_innermost; at != nullptr; at = StageObject::of(at).before.get()) {
    Stage& above = StageObject::of(at);
    if (above.before.get() != object) continue;
    const Ref held(above.before.release());
    above.before = Ref(self.before.release());
    return;
  }
  self.lost = true;
}

// False: no task runs here.
[[gnu::noinline, gnu::cold]] bool push_in_task(PyObject* object, Stage& self) noexcept {
  const Book& book = BookObject::of(self.book.get());
  Ref task(PyObject_CallNoArgs(book.current_task.get()));
  Ref before(task && task.get() != Py_None ? PyObject_CallNoArgs(book.get.get()) : nullptr);
  const Ref token(before ? PyObject_CallFunctionObjArgs(book.set.get(), object, nullptr) : nullptr);
  PyErr_Clear();
  if (!token) return false;
  self.task = std::move(task);
  if (before.get() != Py_None) self.before = std::move(before);
  return true;
}

[[gnu::noinline, gnu::cold]] void remove_from_task(Stage& self) noexcept {
  const Aside aside;
  const Ref token(PyObject_CallFunctionObjArgs(BookObject::of(self.book.get()).set.get(),
                                               self.before ? self.before.get() : Py_None, nullptr));
  PyErr_Clear();
}

// The nearest stage of the same book, if it is of the same thread or task.
Ref around_of(const Stage& self) noexcept {
  PyObject* at = self.before.get();
  while (at != nullptr && StageObject::of(at).book.get() != self.book.get()) {
    at = StageObject::of(at).before.get();
  }
  if (at == nullptr || StageObject::of(at).task.get() != self.task.get()) return Ref();
  return another(at);
}

bool inside_same_name(const Stage& self) noexcept {
  for (PyObject* at = self.around.get(); at != nullptr; at = StageObject::of(at).around.get()) {
    PyObject* const name = StageObject::of(at).name.get();
    if (name == self.name.get() || PyUnicode_Compare(name, self.name.get()) == 0) return true;
  }
  return false;
}

// --- figures

// The row of that name; null with an exception.
PyObject* row_of(Book& book, PyObject* name) noexcept {
  if (PyObject* const known = PyDict_GetItemWithError(book.rows.get(), name)) return known;
  if (PyErr_Occurred() != nullptr) return nullptr;
  const Ref made(FiguresObject::make(g_figures));
#if defined(Py_GIL_DISABLED)  // another thread may have been faster
  return made ? PyDict_SetDefault(book.rows.get(), name, made.get()) : nullptr;
#else
  if (!made || PyDict_SetItem(book.rows.get(), name, made.get()) != 0) return nullptr;
  return made.get();  // the dict holds it
#endif
}

void add(Stage& self, double seconds, bool failed) noexcept {
  Book& book = BookObject::of(self.book.get());
  PyObject* const row = row_of(book, self.name.get());
  Ref metadata(self.metadata ? plain_copy(self.metadata.get()) : nullptr);
  PyErr_Clear();
  const bool covered = self.around && inside_same_name(self);
  const std::lock_guard lock(book.mutex);
  book.ended++;
  if (row == nullptr) return internal::count_lost(0, 1);
  Figures& figures = FiguresObject::of(row);
  figures.least = figures.count == 0 ? seconds : std::min(figures.least, seconds);
  figures.most = std::max(figures.most, seconds);
  figures.count++;
  figures.total += seconds;
  figures.own += std::max(0.0, seconds - self.inside);
  if (!covered) figures.covered += seconds;
  if (failed) figures.failed++;
  if (metadata) {
    PyObject* const old = std::exchange(figures.metadata, metadata.release());
    metadata = Ref(old);
  }
}

// --- a stage

// What a value says, on the span; a key that is no text is left out.
[[gnu::noinline]] void tell(std::uint64_t span, PyObject* metadata) noexcept {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; span != 0 && PyDict_Next(metadata, &at, &key, &value) != 0;) {
    Pair pair;
    if (make_argument(key, value, pair)) Handle(span).arg(pair.arg);
  }
}

PyObject* stage_enter(PyObject* object, PyObject*) noexcept {
  Stage& self = StageObject::of(object);
  if (self.lost || self.entered++ > 0) return none();
  self.span = Ref(stage_span(self.name.get()));
  if (!self.span) {  // a name that is not UTF-8 is not recorded
    if (PyErr_ExceptionMatches(PyExc_MemoryError) != 0) internal::count_lost(1, 0);
    PyErr_Clear();
  }
  self.task = Ref();
  if (!loop_may_run() || !push_in_task(object, self)) push_in_thread(object, self);
  if (self.before) self.around = around_of(self);
  self.inside = 0;
  {
    Book& book = BookObject::of(self.book.get());
    const std::lock_guard lock(book.mutex);
    book.begun++;
  }
  const std::uint64_t id = self.span ? enter_span(self.span.get()) : 0;
  if (self.metadata && PyDict_Check(self.metadata.get())) tell(id, self.metadata.get());
  self.begin_ns = now_ns();
  return none();
}

PyObject* stage_exit(PyObject* object, PyObject* const* args, Py_ssize_t count) noexcept {
  const std::int64_t end_ns = now_ns();
  Stage& self = StageObject::of(object);
  if (self.entered == 0 || --self.entered > 0) return none();
  PyObject* const type = count > 0 ? args[0] : Py_None;
  const double seconds = static_cast<double>(end_ns - self.begin_ns) / 1e9;
  if (self.span) exit_span(self.span.get(), type);
  self.span = Ref();
  if (self.around) StageObject::of(self.around.get()).inside += seconds;
  add(self, seconds, type != Py_None);
  if (self.task) {
    remove_from_task(self);
    self.before = Ref();
  } else {
    remove_from_thread(object, self);
  }
  self.around = Ref();
  self.task = Ref();
  return none();
}

// --- what is in the place of a stage while profiling is off

PyObject* nothing_enter(PyObject*, PyObject*) noexcept { return none(); }
PyObject* nothing_exit(PyObject*, PyObject* const*, Py_ssize_t) noexcept { return none(); }

// --- the book

PyObject* book_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *task = nullptr, *variable = nullptr;
  if (PyArg_ParseTuple(args, "OO", &task, &variable) == 0) return nullptr;
  Ref rows(PyDict_New()), get(PyObject_GetAttrString(variable, "get")),
      set(PyObject_GetAttrString(variable, "set"));
  if (!rows || !get || !set) return nullptr;
  return BookObject::make(type, std::move(rows), another(task), std::move(get), std::move(set));
}

// stage(name, metadata=None, /)
PyObject* book_stage(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  static_cast<void>(BookObject::of(self));
  if (!arity(count, 1, 2, "stage(name, metadata=None, /)")) return nullptr;
  if (PyUnicode_Check(args[0]) == 0) {
    PyErr_SetString(PyExc_TypeError, "the name of a stage is a str");
    return nullptr;
  }
  PyObject* metadata = count > 1 && args[1] != Py_None ? args[1] : nullptr;
  if (metadata != nullptr && PyDict_Check(metadata) && PyDict_Size(metadata) == 0)
    metadata = nullptr;
  return StageObject::make(g_stage, another(self), another(args[0]), another(metadata));
}

PyObject* book_rows(PyObject* self, void*) {
  return another(BookObject::of(self).rows.get()).release();
}
PyObject* book_unfinished(PyObject* self, void*) {
  Book& book = BookObject::of(self);
  const std::lock_guard lock(book.mutex);
  return PyLong_FromUnsignedLongLong(book.begun - book.ended);
}

template <auto kMember>
PyObject* figure(PyObject* self, void*) {
  const auto value = FiguresObject::of(self).*kMember;
  if constexpr (std::is_same_v<decltype(value), const double>) return PyFloat_FromDouble(value);
  if constexpr (!std::is_same_v<decltype(value), const double>) {
    return PyLong_FromUnsignedLongLong(value);
  }
}
PyObject* figures_mean(PyObject* self, void*) {
  const Figures& figures = FiguresObject::of(self);
  return figures.count == 0
             ? none()
             : PyFloat_FromDouble(figures.total / static_cast<double>(figures.count));
}
PyObject* figures_metadata(PyObject* self, void*) {
  PyObject* const metadata = FiguresObject::of(self).metadata;
  return metadata != nullptr ? another(metadata).release() : none();
}

Value figures_values[] = {
    value<figure<&Figures::count>>("count"),
    value<figure<&Figures::failed>>("failed"),
    value<figure<&Figures::total>>("total", "Seconds, as all that follow."),
    value<figures_mean>("mean"),
    value<figure<&Figures::least>>("least"),
    value<figure<&Figures::most>>("most"),
    value<figure<&Figures::own>>("own", "Without stages inside."),
    value<figure<&Figures::covered>>("covered", "Calls inside calls count once."),
    value<figures_metadata>("metadata", "Of the last call that had some."),
    {},
};
Slot figures_slots[] = {
    Slot::dealloc<FiguresObject::dealloc>(),
    Slot(figures_values),
    {},
};
Method stage_methods[] = {
    recording<stage_enter>("__enter__", METH_NOARGS),
    recording<stage_exit>("__exit__", METH_FASTCALL),
    {},
};
Slot stage_slots[] = {
    Slot::dealloc<StageObject::dealloc>(),
    Slot(stage_methods),
    {},
};
Method book_methods[] = {
    recording<book_stage, Drop<give_nothing, 1, 0>>("stage", METH_FASTCALL,
                                                    "stage(name, metadata=None, /): for `with`."),
    {},
};
Value book_values[] = {
    value<book_rows>("rows", "{name: StageFigures} of the stages that ended."),
    value<book_unfinished>("unfinished", "Stages that are open."),
    {},
};
Slot book_slots[] = {
    Slot::made<book_new, BookObject>(),
    Slot::dealloc<BookObject::dealloc>(),
    Slot(book_methods),
    Slot(book_values),
    {},
};
Method nothing_methods[] = {
    recording<nothing_enter>("__enter__", METH_NOARGS),
    recording<nothing_exit>("__exit__", METH_FASTCALL),
    {},
};
Slot nothing_slots[] = {
    Slot(nothing_methods),
    {},
};
constexpr TypeSpec figures_spec = {"genscope._core.StageFigures", sizeof(FiguresObject),
                                   figures_slots, kMadeHere};
constexpr TypeSpec stage_spec = {"genscope._core.Stage", sizeof(StageObject), stage_slots,
                                 kMadeHere};
constexpr TypeSpec nothing_spec = {"genscope._core.Nothing", sizeof(PyObject), nothing_slots};
constexpr TypeSpec book_spec = {"genscope._core.StageBook", sizeof(BookObject), book_slots};

}  // namespace

PyObject* give_nothing(PyObject*, PyObject* const*) noexcept {
  return another(g_nothing).release();
}

bool add_stages(PyObject* module) {
  g_figures = make_type(module, figures_spec);
  g_stage = make_type(module, stage_spec);
  PyTypeObject* const nothing = make_type(module, nothing_spec);
  if (g_figures == nullptr || g_stage == nullptr || nothing == nullptr) return false;
  g_nothing = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(nothing));
  return g_nothing != nullptr &&
         PyModule_AddObject(module, "StageFigures",
                            another(reinterpret_cast<PyObject*>(g_figures)).release()) == 0 &&
         add_type(module, book_spec, "StageBook") &&
         PyModule_AddObject(module, "Nothing", reinterpret_cast<PyObject*>(nothing)) == 0;
}

}  // namespace genscope::python
