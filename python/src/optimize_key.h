// Keys of genscope.optimize from Python's values.
#pragma once

#include <genscope/optimize/cache.h>

#include "monitors.h"

namespace genscope::python {

using KeyObject = Holder<optimize::Key>;

bool add_optimize_key(PyObject* module);
bool is_cache_key(PyObject* object) noexcept;
// The key that an object is or, with kind "value", stands for; `made` keeps a new one. Null with
// TypeError for what has no canonical form.
const optimize::Key* key_of(PyObject* object, optimize::Key& made);

}  // namespace genscope::python
