#include "calls.h"

namespace genscope::python {

Raised::~Raised() {
  Py_XDECREF(type_);
  Py_XDECREF(value_);
  Py_XDECREF(trace_);
}

void Raised::take() noexcept {
  if (any()) {
    PyErr_Clear();
    return;
  }
  PyErr_Fetch(&type_, &value_, &trace_);
  any_.store(true, std::memory_order_release);
}

PyObject* Raised::restore() noexcept {
  PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr),
                std::exchange(trace_, nullptr));
  return nullptr;
}

std::string text_at(PyObject* sequence, Py_ssize_t at) {
  const Ref item(PySequence_GetItem(sequence, at));
  std::string_view text;
  if (!item || PyUnicode_Check(item.get()) == 0 || !text_of(item.get(), text)) {
    PyErr_Clear();
    return {};
  }
  return std::string(text);
}

bool number_from(PyObject* object, double& value) noexcept {
  if (object == nullptr || object == Py_None) return false;
  value = PyFloat_AsDouble(object);
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

}  // namespace genscope::python
