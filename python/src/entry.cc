#include "entry.h"

#include <exception>
#include <new>

namespace genscope::python {

PyObject* give_zero(PyObject*, PyObject* const*) noexcept { return PyLong_FromLong(0); }
PyObject* give_no_text(PyObject*, PyObject* const*) noexcept {
  return PyUnicode_FromStringAndSize("", 0);
}

namespace internal_entry {

void count_dropped(unsigned spans, unsigned records) noexcept {
  PyErr_Clear();
  internal::count_lost(spans, records);
}

void raise_current() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& failure) {
    PyErr_SetString(PyExc_RuntimeError, failure.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "genscope failed for an unknown reason");
  }
}

}  // namespace internal_entry

PyTypeObject* make_type(PyObject* module, const TypeSpec& spec) noexcept {
  PyType_Spec given{spec.name, static_cast<int>(spec.size), 0, spec.flags, spec.slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &given, nullptr));
}

bool add_type(PyObject* module, const TypeSpec& spec, const char* name) noexcept {
  PyTypeObject* const type = make_type(module, spec);
  return type != nullptr &&
         PyModule_AddObject(module, name, reinterpret_cast<PyObject*>(type)) == 0;
}

bool add_functions(PyObject* module, Method* functions) noexcept {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace genscope::python
