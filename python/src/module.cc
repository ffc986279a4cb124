// genscope._core: what Python sees of the library. The package over it is python/genscope.
#include <genscope/version.h>

#include "entry.h"

namespace genscope::python {

PyObject* raise(const Error& error) noexcept {
  PyObject* kind = PyExc_RuntimeError;
  switch (error.code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::bad_data:
      kind = PyExc_ValueError;
      break;
    case ErrorCode::not_found:
      kind = PyExc_FileNotFoundError;
      break;
    case ErrorCode::permission:
      kind = PyExc_PermissionError;
      break;
    case ErrorCode::no_space:
    case ErrorCode::io:
      kind = PyExc_OSError;
      break;
    case ErrorCode::unsupported:
      kind = PyExc_NotImplementedError;
      break;
  }
  const Ref text(to_str(error.message));
  if (text) PyErr_SetObject(kind, text.get());
  return nullptr;
}

namespace {

int run_module(PyObject* module) {
  // The recorder is one per process, its Python objects are of one interpreter.
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError,
                    "genscope records in the main interpreter only, and this is a subinterpreter; "
                    "call it from the main one");
    return -1;
  }
  for (const auto add : {add_spans,           add_recording,       add_wrapped,
                         add_session,         add_reading,         add_columns,
                         add_arrow,           add_models,          add_monitors,
                         add_request_monitor, add_device,          add_events,
                         add_plain,           add_stages,          add_steps,
                         add_validator,       add_bench,           add_bench_suite,
                         add_optimize_cache,  add_optimize_models, add_optimize_devices,
                         add_optimize_tiers,  add_optimize_flow,   add_optimize_lanes,
                         add_stacks}) {
    if (!add(module)) return -1;
  }
  return PyModule_AddStringConstant(module, "VERSION", GENSCOPE_VERSION_STRING);
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(internal_entry::reader<run_module>(run_module))},
#if defined(Py_GIL_DISABLED)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "genscope._core",
    "The recorder and the readers of genscope.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace genscope::python

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&genscope::python::definition); }
