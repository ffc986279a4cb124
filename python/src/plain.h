// Copies of what a program tells, which hold nothing of it.
#pragma once

#include "python.h"

namespace genscope::python {

// A copy for JSON: str, bool, int, float and None as they are, dicts with str keys, lists; of
// anything else only the name of its type, never its text, which could wait for a GPU. Null with an
// exception.
inline constexpr int kPlainDepth = 8;  // of dicts and lists in each other
PyObject* plain_copy(PyObject* value, int depth = kPlainDepth) noexcept;

}  // namespace genscope::python
