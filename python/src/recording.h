// What other parts of the extension record by themselves.
#pragma once

#include "python.h"

namespace genscope::python {

// An event with the pairs of a dict, in the span that is open here. A key that is no text is left
// out.
void tell_event(std::string_view name, PyObject* dict) noexcept;

}  // namespace genscope::python
