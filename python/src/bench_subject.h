// What is measured, as the package names it.
#pragma once

#include <genscope/bench.h>

#include <memory>

#include "bench_spec.h"
#include "calls.h"

namespace genscope::python {

// ("command", str), ("argv", [str]) or ("function", begin or None, call, end or None). Null with an
// exception. `raised` outlives it.
//   begin() -> error or None
//   call(prompt, seed, iteration, warmup, {name: value}) ->
//     (failure class or None, detail, seconds, metrics or None, files or None)
std::unique_ptr<bench::Subject> subject_from(PyObject* what, Spec& spec, Raised& raised,
                                             bool& is_function);

}  // namespace genscope::python
