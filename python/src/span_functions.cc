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

// `@gs.stage` above a function is the mistake that the second sentence is for.
PyObject* refuse_name(PyObject* name) noexcept {
  const Ref type(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(name)), "__name__"));
  if (!type) return nullptr;
  PyErr_Format(
      PyExc_TypeError,
      PyCallable_Check(name) != 0
          ? "the name of a span must be a str, not %U. To mark a function, put @gs.profile "
            "above it; to mark a block, write `with gs.stage(\"name\"):`"
          : "the name of a span must be a str, not %U",
      type.get());
  return nullptr;
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
  if (!PyUnicode_Check(name)) return refuse_name(name);
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

constexpr Py_ssize_t kNowhere = -1;

// Where `kind=` stands among the keywords, which it then is; kNowhere: nowhere. False: it is no
// kind.
bool kind_by_keyword(PyObject* const* values, PyObject* names, SpanKind& kind,
                     Py_ssize_t& at) noexcept {
  at = kNowhere;
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, i), "kind") == 0) at = i;
  }
  return at == kNowhere || kind_of(values[at], kind);
}

// The keywords but that at `skip`; null with an exception.
PyObject* dict_of(PyObject* const* values, PyObject* names, Py_ssize_t skip) noexcept {
  Ref dict(PyDict_New());
  for (Py_ssize_t i = 0; dict && i < PyTuple_Size(names); ++i) {
    if (i == skip) continue;
    if (PyDict_SetItem(dict.get(), PyTuple_GetItem(names, i), values[i]) != 0) return nullptr;
  }
  return dict.release();
}

PyObject* with_keywords(PyObject* owned, PyObject* const* values, PyObject* names,
                        Py_ssize_t skip = kNowhere) noexcept {
  if (owned == nullptr || names == nullptr || PyTuple_Size(names) == 0) return owned;
  const Ref span(owned);
  const SpanObject* const plain = self_of(owned);
  Ref fresh(make_object(plain->kind, plain->site, plain->name));
  if (!fresh) return nullptr;
  SpanObject* const self = self_of(fresh.get());
  self->index = plain->index;
  self->numbered = plain->numbered;
  self->args = dict_of(values, names, skip);
  return self->args != nullptr ? fresh.release() : nullptr;
}

template <SpanKind kKind>
PyObject* make_named(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  if (!arity(count, 1, 1,
             "give one name, then arguments by keyword: stage(\"vae_decode\", tiles=4)"))
    return nullptr;
  PyObject* const span = span_named(kKind, args[0]);
  return names == nullptr ? span : with_keywords(span, args + 1, names);
}

template <SpanKind kKind>
PyObject* make_numbered(PyObject*, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) noexcept {
  if (!arity(count, 1, 1, "give one number, then arguments by keyword: step(3, size=64)"))
    return nullptr;
  const std::int64_t index = PyLong_AsLongLong(args[0]);
  if (index == -1 && PyErr_Occurred() != nullptr) return nullptr;
  PyObject* const span = make_object(kKind, kKind == SpanKind::step ? &step_site : &block_site);
  if (span == nullptr) return nullptr;
  self_of(span)->index = index;
  self_of(span)->numbered = true;
  return names == nullptr ? span : with_keywords(span, args + 1, names);
}

// span(name, /, kind="function", **args)
PyObject* make_any(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) noexcept {
  SpanKind kind = SpanKind::function;
  Py_ssize_t at = kNowhere;
  if (!arity(count, 1, 2, "span(name, /, kind='function', **args)")) return nullptr;
  if (count == 2 && !kind_of(args[1], kind)) return nullptr;
  if (count == 1 && !kind_by_keyword(args + count, names, kind, at)) return nullptr;
  PyObject* const span = span_named(kind, args[0]);
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  return keywords == (at == kNowhere ? 0 : 1) ? span : with_keywords(span, args + count, names, at);
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

// begin(name, /, kind="stage", **args) -> int
PyObject* begin_by_hand(PyObject*, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) noexcept {
  SpanKind kind = SpanKind::stage;
  Py_ssize_t at = kNowhere;
  if (!arity(count, 1, 2, "begin(name, /, kind='stage', **args)")) return nullptr;
  if (count == 2 && !kind_of(args[1], kind)) return nullptr;
  if (count == 1 && !kind_by_keyword(args + count, names, kind, at)) return nullptr;
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
  if (at != kNowhere) {
    const Ref rest(dict_of(args + count, names, at));
    if (!rest) PyErr_Clear();
    if (rest) put_arguments(Handle(id), rest.get());
  } else if (names != nullptr) {
    put_keywords(Handle(id), args + count, names);
  }
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

// What help() shows. The examples are run by python/tests/doc_test.py.
constexpr char kSpanDoc[] = R"(span(name, /, kind='function', **args)
--

A span of any kind, for `with`. stage(), step() and the others are shorter.

Kinds: load, stage, step, block, forward, request, batch, epoch, task, function.

>>> with gs.span("tokenize", kind="task", words=12):
...     text = encode(prompt)
)";
constexpr char kStageDoc[] = R"(stage(name, /, **args)
--

A part of the pipeline, for `with`. Arguments by keyword are kept with it.

>>> with gs.stage("vae_decode", tiles=4):
...     image = decode(latent)
)";
constexpr char kLoadingDoc[] = R"(loading(name, /, **args)
--

Loading a model or data, for `with`. `file` tells the advice what is loaded twice.

>>> with gs.loading("transformer", file="model.safetensors"):
...     model = load_model()
)";
constexpr char kForwardDoc[] = R"(forward(name, /, **args)
--

One pass of a model, for `with`. wrap() marks every call of a module instead.

>>> with gs.forward("denoiser"):
...     latent = denoise(latent, 0)
)";
constexpr char kRequestDoc[] = R"(request(name, /, **args)
--

One request of a service, for `with`.

>>> with gs.request("generate", user="anna"):
...     image = decode(latent)
)";
constexpr char kBatchDoc[] = R"(batch(name, /, **args)
--

One batch of a training loop, for `with`.

>>> with gs.batch("train", size=8):
...     loss = train(data)
)";
constexpr char kEpochDoc[] = R"(epoch(name, /, **args)
--

One pass over the training data, for `with`.

>>> with gs.epoch("epoch", index=0):
...     for data in batches:
...         with gs.batch("train"):
...             loss = train(data)
)";
constexpr char kTaskDoc[] = R"(task(name, /, **args)
--

Work beside the main line, for `with`: in a thread, a worker, a coroutine.

>>> with gs.task("save_image"):
...     save(image)
)";
constexpr char kStepDoc[] = R"(step(index, /, **args)
--

One numbered turn of a loop, for `with`. steps() marks the whole loop.

>>> for i in range(20):
...     with gs.step(i):
...         latent = denoise(latent, i)
)";
constexpr char kBlockDoc[] = R"(block(index, /, **args)
--

One numbered block of a video, for `with`.

>>> for i in range(3):
...     with gs.block(i, frames=4):
...         latent = denoise(latent, i)
)";
constexpr char kBeginDoc[] = R"(begin(name, /, kind='stage', **args)
--

Begins a span where `with` does not fit, and returns its id for end().

>>> id = gs.begin("denoising")
>>> latent = denoise(latent, 0)
>>> gs.end(id)
)";
constexpr char kEndDoc[] = R"(end(id=None, failed=False, /)
--

Ends the span that begin() began; without an id, the innermost one.

>>> id = gs.begin("denoising")
>>> gs.end(id, True)                  # it failed
)";

constexpr int kCall = METH_FASTCALL | METH_KEYWORDS;
Method functions[] = {
    recording<make_any, SpareSpan>("span", kCall, kSpanDoc),
    recording<make_named<SpanKind::stage>, SpareSpan>("stage", kCall, kStageDoc),
    recording<make_named<SpanKind::load>, SpareSpan>("loading", kCall, kLoadingDoc),
    recording<make_named<SpanKind::forward>, SpareSpan>("forward", kCall, kForwardDoc),
    recording<make_named<SpanKind::request>, SpareSpan>("request", kCall, kRequestDoc),
    recording<make_named<SpanKind::batch>, SpareSpan>("batch", kCall, kBatchDoc),
    recording<make_named<SpanKind::epoch>, SpareSpan>("epoch", kCall, kEpochDoc),
    recording<make_named<SpanKind::task>, SpareSpan>("task", kCall, kTaskDoc),
    recording<make_numbered<SpanKind::step>, SpareSpan>("step", kCall, kStepDoc),
    recording<make_numbered<SpanKind::block>, SpareSpan>("block", kCall, kBlockDoc),
    recording<begin_by_hand, DropSpan>("begin", kCall, kBeginDoc),
    recording<end_by_hand>("end", METH_FASTCALL, kEndDoc),
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
