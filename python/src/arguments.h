// Arguments of spans and events, from Python's values.
#pragma once

#include <genscope/record.h>

#include "python.h"

namespace genscope::python {

// Puts key and value of each pair on the span, or calls `take` for it. bool, int, float and str and
// what derives from them are kept; None is left out; of anything else only the name of its type is:
// to ask a tensor for its value could wait for a GPU. False with an exception if a key is no str.
bool put_arguments(Handle span, PyObject* dict) noexcept;
// The same for the keywords of a vector call.
bool put_keywords(Handle span, PyObject* const* values, PyObject* names) noexcept;

// One pair as an Arg, which holds views into both objects.
enum class Took { yes, skip, failed };
Took make_argument(PyObject* key, PyObject* value, Arg& arg) noexcept;

}  // namespace genscope::python
