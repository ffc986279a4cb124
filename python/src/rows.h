// Lists of what C++ has, and figures that may be absent.
#pragma once

#include <cstdint>
#include <optional>

#include "calls.h"
#include "entry.h"

namespace genscope::python {

// A list of what `row` makes of each.
template <class Rows, class Row>
PyObject* list_of(const Rows& rows, Row row) {
  Ref list(PyList_New(0));
  for (const auto& each : rows) {
    const Ref item(row(each));
    if (!list || !item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

inline PyObject* bytes_or_none(const std::optional<std::uint64_t>& bytes) {
  return bytes ? PyLong_FromUnsignedLongLong(*bytes) : none();
}

}  // namespace genscope::python
