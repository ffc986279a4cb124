#include "arguments.h"

namespace genscope::python {
namespace {

// Borrowed from the type object, which outlives the value.
std::string_view type_name(PyObject* value) noexcept {
  thread_local std::string t_name;
  t_name.clear();
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__name__"));
  std::string_view text;
  if (name && text_of(name.get(), text)) t_name = "<" + std::string(text) + ">";
  PyErr_Clear();
  return t_name;
}

}  // namespace

Took make_argument(PyObject* key, PyObject* value, Arg& arg) noexcept {
  std::string_view name;
  if (!text_of(key, name)) return Took::failed;
  if (value == Py_None) return Took::skip;
  if (PyBool_Check(value)) {
    arg = Arg(name, value == Py_True);
  } else if (PyLong_Check(value)) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
      arg = Arg(name, PyLong_AsDouble(value));
      PyErr_Clear();
    } else {
      arg = Arg(name, static_cast<std::int64_t>(whole));
    }
  } else if (PyFloat_Check(value)) {
    arg = Arg(name, PyFloat_AsDouble(value));
  } else if (PyUnicode_Check(value)) {
    std::string_view text;
    if (!text_of(value, text)) {  // lone surrogates
      PyErr_Clear();
      text = "<text that is not UTF-8>";
    }
    arg = Arg(name, text);
  } else {
    arg = Arg(name, type_name(value));
  }
  return Took::yes;
}

bool put_arguments(Handle span, PyObject* dict) noexcept {
  if (dict == nullptr) return true;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value) != 0) {
    Arg arg("", 0);
    const Took took = make_argument(key, value, arg);
    if (took == Took::failed) return false;
    if (took == Took::yes) span.arg(arg);
  }
  return true;
}

bool put_keywords(Handle span, PyObject* const* values, PyObject* names) noexcept {
  const Py_ssize_t count = names != nullptr ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Arg arg("", 0);
    const Took took = make_argument(PyTuple_GetItem(names, i), values[i], arg);
    if (took == Took::failed) return false;
    if (took == Took::yes) span.arg(arg);
  }
  return true;
}

}  // namespace genscope::python
