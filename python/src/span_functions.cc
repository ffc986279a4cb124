// The functions that make Spans, and spans that are begun and ended by hand.
#include "arguments.h"
#include "open_spans.h"
#include "span_object.h"

namespace genscope::python {
namespace {

PyObject* g_cache[16];  // by kind: {name: Span}

// Null with an exception. `name`: a str whose UTF-8 is made, where there is no site.
inline PyObject* make_object(SpanKind kind, Site* site, PyObject* name = nullptr) noexcept {
  SpanObject* const self = PyObject_New(SpanObject, g_span_type);
  if (self == nullptr) return nullptr;
  self->site = site;
  self->name = site == nullptr ? another(name).release() : nullptr;
  self->args = nullptr;
  self->index = 0;
  self->entry = Entry{};
  self->more = nullptr;
  self->unlisted = 0;
  self->kind = kind;
  self->numbered = false;
  self->shared = false;
  return reinterpret_cast<PyObject*>(self);
}

// A Span of that name that nobody else holds: the one that is kept for it, or a new one. Null with
// an exception.
inline PyObject* span_named(SpanKind kind, PyObject* name) noexcept {
  PyObject*& cache = g_cache[static_cast<std::size_t>(kind)];
#if !defined(Py_GIL_DISABLED)
  PyObject* const known = PyDict_GetItemWithError(cache, name);
  if (known != nullptr && Py_REFCNT(known) == 1) [[likely]] {
    Py_INCREF(known);
    return known;
  }
  if (known != nullptr) return make_object(kind, self_of(known)->site);
  if (PyErr_Occurred() != nullptr) return nullptr;
#endif
  std::string_view text;
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "the name of a span is a str");
    return nullptr;
  }
  if (!text_of(name, text)) return nullptr;
  Site* const site = site_or_none(kind, text);
  PyObject* const made = make_object(kind, site, name);
#if !defined(Py_GIL_DISABLED)
  if (made != nullptr && site != nullptr && PyDict_SetItem(cache, name, made) != 0) PyErr_Clear();
#endif
  return made;
}

// The site of a name that was a span of span_named() before; null if there is none.
Site* known_site(SpanKind kind, PyObject* name) noexcept {
  PyObject* const known = PyDict_GetItemWithError(g_cache[static_cast<std::size_t>(kind)], name);
  if (known == nullptr) PyErr_Clear();
  return known != nullptr ? self_of(known)->site : nullptr;
}

PyObject* with_keywords(PyObject* owned, PyObject* const* values, PyObject* names) noexcept {
  if (owned == nullptr || names == nullptr || PyTuple_Size(names) == 0) return owned;
  const Ref span(owned);
  const SpanObject* const plain = self_of(owned);
  Ref fresh(make_object(plain->kind, plain->site, plain->name));
  if (!fresh) return nullptr;
  SpanObject* const self = self_of(fresh.get());
  self->index = plain->index;
  self->numbered = plain->numbered;
  self->args = PyDict_New();
  if (self->args == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names); ++i) {
    if (PyDict_SetItem(self->args, PyTuple_GetItem(names, i), values[i]) != 0) return nullptr;
  }
  return fresh.release();
}

template <SpanKind kKind>
PyObject* make_named(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  if (!arity(count, 1, 1, "one name, then arguments by keyword")) return nullptr;
  PyObject* const span = span_named(kKind, args[0]);
  return names == nullptr ? span : with_keywords(span, args + 1, names);
}

template <SpanKind kKind>
PyObject* make_numbered(PyObject*, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) noexcept {
  if (!arity(count, 1, 1, "one number, then arguments by keyword")) return nullptr;
  const std::int64_t index = PyLong_AsLongLong(args[0]);
  if (index == -1 && PyErr_Occurred() != nullptr) return nullptr;
  PyObject* const span = make_object(kKind, kKind == SpanKind::step ? &step_site : &block_site);
  if (span == nullptr) return nullptr;
  self_of(span)->index = index;
  self_of(span)->numbered = true;
  return names == nullptr ? span : with_keywords(span, args + 1, names);
}

// span(name, kind="function", **args)
PyObject* make_any(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  SpanKind kind = SpanKind::function;
  if (!arity(count, 1, 2, "span(name, kind='function', /, **args)")) return nullptr;
  if (count == 2 && !kind_of(args[1], kind)) return nullptr;
  PyObject* const span = span_named(kind, args[0]);
  return names == nullptr ? span : with_keywords(span, args + count, names);
}

// --- by hand

void end_now(std::uint64_t id, bool failed) noexcept {
  if (Opened opened = take_kept(id); opened.id != 0) return close_in_task(opened, failed);
  if (failed) {
    end_failed(Handle(id));
  } else {
    internal::end(id);
  }
  pop(id);
}

// begin(name, kind="stage", /, **args) -> int
PyObject* begin_by_hand(PyObject*, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) noexcept {
  SpanKind kind = SpanKind::stage;
  if (!arity(count, 1, 2, "begin(name, kind='stage', /, **args)")) return nullptr;
  if (count == 2 && !kind_of(args[1], kind)) return nullptr;
  Site* site = known_site(kind, args[0]);
  std::string_view text;
  if (site == nullptr) {
    if (!text_of(args[0], text)) return nullptr;
    const Ref span(span_named(kind, args[0]));  // for the next time
    if (!span) PyErr_Clear();
    site = span ? self_of(span.get())->site : nullptr;
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
  if (id == 0) return PyLong_FromLong(0);
  if (g_on_begin != nullptr) g_on_begin(id, kind);
  if (names != nullptr) put_keywords(Handle(id), args + count, names);
  PyObject* const number = PyLong_FromUnsignedLongLong(id);
  if (number == nullptr) end_now(id, false);  // nobody could end it
  return number;
}

// end(id=None, failed=False, /): without an id, the innermost span of begin() or `with`.
PyObject* end_by_hand(PyObject*, PyObject* const* args, Py_ssize_t count) noexcept {
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
  end_now(id, failed != 0);
  return none();
}

constexpr int kCall = METH_FASTCALL | METH_KEYWORDS;
Method functions[] = {
    recording<make_any, SpareSpan>("span", kCall, "span(name, kind='function', /, **args)"),
    recording<make_named<SpanKind::stage>, SpareSpan>("stage", kCall, "stage(name, /, **args)"),
    recording<make_named<SpanKind::load>, SpareSpan>("loading", kCall, "loading(name, /, **args)"),
    recording<make_named<SpanKind::forward>, SpareSpan>("forward", kCall,
                                                        "forward(name, /, **args)"),
    recording<make_named<SpanKind::request>, SpareSpan>("request", kCall,
                                                        "request(name, /, **args)"),
    recording<make_named<SpanKind::batch>, SpareSpan>("batch", kCall, "batch(name, /, **args)"),
    recording<make_named<SpanKind::epoch>, SpareSpan>("epoch", kCall, "epoch(name, /, **args)"),
    recording<make_named<SpanKind::task>, SpareSpan>("task", kCall, "task(name, /, **args)"),
    recording<make_numbered<SpanKind::step>, SpareSpan>("step", kCall, "step(index, /, **args)"),
    recording<make_numbered<SpanKind::block>, SpareSpan>("block", kCall, "block(index, /, **args)"),
    recording<begin_by_hand, DropSpan>("begin", kCall,
                                       "begin(name, kind='stage', /, **args) -> int"),
    recording<end_by_hand>("end", METH_FASTCALL, "end(id=None, failed=False, /)"),
    {},
};

}  // namespace

PyObject* new_span(SpanKind kind, Site* site) noexcept { return make_object(kind, site); }
PyObject* stage_span(PyObject* name) noexcept { return span_named(SpanKind::stage, name); }

bool add_span_functions(PyObject* module) {
  for (PyObject*& cache : g_cache) {
    if (cache == nullptr && (cache = PyDict_New()) == nullptr) return false;
  }
  return add_functions(module, functions);
}

}  // namespace genscope::python
