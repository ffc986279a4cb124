// What the bindings of retries, batches and admission share.
#pragma once

#include <genscope/optimize/retry.h>

#include <cstdint>

#include "calls.h"

namespace genscope::python {

// Now plus a timeout in seconds; None: no deadline. False with an exception.
bool deadline_after(PyObject* timeout, std::int64_t& deadline_ns) noexcept;
// By its name; false with an exception.
bool failure_from(const char* kind, optimize::Failed& failure) noexcept;

bool add_optimize_queues(PyObject* module);

}  // namespace genscope::python
