// The object behind genscope.Span, for the files that make, enter and leave it.
#pragma once

#include <vector>

#include "entry.h"
#include "open_spans.h"
#include "span.h"

namespace genscope::python {

// How one `with` block was opened.
struct Entry {
  Opened opened;
  const void* thread = nullptr;  // who opened it: an address that only that thread has
  bool in_task = false;
};

struct SpanObject {
  PyObject_HEAD Site* site;  // null: `name` is looked up at each begin
  PyObject* name;            // owned str, its UTF-8 made; null if there is a site
  PyObject* args;            // owned dict, or null
  std::int64_t index;        // of a step or block
  Entry entry;               // of the block that is open; entry.thread null: none is
  std::vector<Entry>* more;  // of further ones: the object is shared, or the block recursive
  // Blocks that are open and for which `more` had no memory. They are not recorded. The next exits
  // are taken for theirs: they are the innermost, unless threads share the object.
  unsigned unlisted;
  SpanKind kind;
  bool numbered;
  bool shared;  // `more` or `unlisted` was used
};

inline SpanObject* self_of(PyObject* object) noexcept {
  return reinterpret_cast<SpanObject*>(object);
}

extern PyTypeObject* g_span_type;

std::string_view name_of(const SpanObject* self) noexcept;

// Null with an exception.
PyObject* new_span(SpanKind kind, Site* site) noexcept;
// In the place of a Span that there is no memory for: its blocks are counted as lost.
PyObject* give_spare_span(PyObject*, PyObject* const*) noexcept;
using SpareSpan = Drop<give_spare_span>;

// Each file's part.
bool add_span_functions(PyObject* module);

}  // namespace genscope::python
