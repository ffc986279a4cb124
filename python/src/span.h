// genscope.Span: a stage, a step or another stretch of time as an object for `with`.
#pragma once

#include <genscope/record.h>

#include "python.h"

namespace genscope::python {

// Called around spans of stages, steps, blocks, forwards, batches and requests while device time is
// measured; null otherwise. With the GIL.
using OnSpan = void (*)(std::uint64_t id, SpanKind kind) noexcept;
extern OnSpan g_on_begin, g_on_end;

// The kind of that name; false with a ValueError that lists them.
bool kind_of(PyObject* object, SpanKind& kind) noexcept;

// A Site that lives for ever; null for a name that can be none, and once there are kMaxSites of
// them, for names without end. Throws std::bad_alloc.
inline constexpr std::size_t kMaxSites = 16384;
Site* site_of(SpanKind kind, std::string_view name);
// The same, and null if there is no memory for it.
Site* site_or_none(SpanKind kind, std::string_view name) noexcept;

// For objects that are a span among other things: a span of kind stage that nobody else holds, null
// with an exception. To enter it gives its id, 0 if it is not recorded; `type` is None or the
// exception's.
PyObject* stage_span(PyObject* name) noexcept;
std::uint64_t enter_span(PyObject* span) noexcept;
void exit_span(PyObject* span, PyObject* type) noexcept;

}  // namespace genscope::python
