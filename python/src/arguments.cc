#include "arguments.h"

#include <genscope/record.h>

namespace genscope::python {
namespace {

// <Tensor>, cut to the room that there is.
std::string_view type_name(PyObject* value, Pair& pair) noexcept {
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__name__"));
  std::string_view text;
  if (!name || !text_of(name.get(), text)) {
    PyErr_Clear();
    return {};
  }
  std::size_t size = text.size();
  if (size > sizeof pair.type - 2) {
    size = sizeof pair.type - 2;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  }
  pair.type[0] = '<';
  text.copy(pair.type + 1, size);
  pair.type[size + 1] = '>';
  return {pair.type, size + 2};
}

}  // namespace

bool make_argument(PyObject* key, PyObject* value, Pair& pair) noexcept {
  std::string_view name;
  if (value == Py_None) return false;
  if (!PyUnicode_Check(key)) return false;
  if (!text_of(key, name)) {
    PyErr_Clear();
    internal::count_lost(0, 1);
    return false;
  }
  if (PyBool_Check(value)) {
    pair.arg = Arg(name, value == Py_True);
  } else if (PyLong_Check(value)) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
      pair.arg = Arg(name, PyLong_AsDouble(value));
      PyErr_Clear();
    } else {
      pair.arg = Arg(name, static_cast<std::int64_t>(whole));
    }
  } else if (PyFloat_Check(value)) {
    pair.arg = Arg(name, PyFloat_AsDouble(value));
  } else if (PyUnicode_Check(value)) {
    std::string_view text;
    if (!text_of(value, text)) {
      text = PyErr_ExceptionMatches(PyExc_MemoryError) != 0 ? "<text, and no memory for it>"
                                                            : "<text that is not UTF-8>";
      PyErr_Clear();
    }
    pair.arg = Arg(name, text);
  } else {
    pair.arg = Arg(name, type_name(value, pair));
  }
  return true;
}

void put_arguments(Handle span, PyObject* dict) noexcept {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (dict != nullptr && PyDict_Next(dict, &at, &key, &value) != 0) {
    Pair pair;
    if (make_argument(key, value, pair)) span.arg(pair.arg);
  }
}

void put_keywords(Handle span, PyObject* const* values, PyObject* names) noexcept {
  const Py_ssize_t count = names != nullptr ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Pair pair;
    if (make_argument(PyTuple_GetItem(names, i), values[i], pair)) span.arg(pair.arg);
  }
}

}  // namespace genscope::python
