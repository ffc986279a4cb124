// Arguments of spans and events, from Python's values.
#pragma once

#include <genscope/record.h>

#include "python.h"

namespace genscope::python {

// A key and a value as an Arg, which holds views into both objects and into `type`.
struct Pair {
  Arg arg{"", 0};
  char type[80];
};

// bool, int, float and str and what derives from them are kept; None is left out; of anything else
// only the name of its type is: to ask a tensor for its value could wait for a GPU. False if there
// is nothing to tell: None, or a key that is no str. A key that is no UTF-8 is counted as lost.
bool make_argument(PyObject* key, PyObject* value, Pair& pair) noexcept;

// Puts key and value of each pair on the span.
void put_arguments(Handle span, PyObject* dict) noexcept;
// The same for the keywords of a vector call.
void put_keywords(Handle span, PyObject* const* values, PyObject* names) noexcept;

}  // namespace genscope::python
