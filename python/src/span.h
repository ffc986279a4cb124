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

// A Site that lives for ever; null once there are kMaxSites of them, for names without end.
inline constexpr std::size_t kMaxSites = 16384;
Site* site_of(SpanKind kind, std::string_view name) noexcept;

}  // namespace genscope::python
