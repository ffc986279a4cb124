#include "plain.h"

#include "entry.h"

namespace genscope::python {
namespace {

PyObject* copy_dict(PyObject* dict, int depth) noexcept {
  Ref copy(PyDict_New());
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; copy && PyDict_Next(dict, &at, &key, &value) != 0;) {
    // Held: to make a text of a key may run code that changes the dict.
    Py_INCREF(value);
    const Ref held(value);
    Py_INCREF(key);
    Ref name(key);
    if (PyUnicode_CheckExact(key) == 0) name = Ref(PyObject_Str(key));
    const Ref item(name ? plain_copy(value, depth - 1) : nullptr);
    if (!item || PyDict_SetItem(copy.get(), name.get(), item.get()) != 0) return nullptr;
  }
  return copy.release();
}

PyObject* copy_items(PyObject* items, int depth) noexcept {
  const Ref each(PySequence_Tuple(items));
  const Py_ssize_t count = each ? PyTuple_Size(each.get()) : 0;
  Ref copy(each ? PyList_New(count) : nullptr);
  for (Py_ssize_t i = 0; copy && i < count; ++i) {
    PyObject* const item = plain_copy(PyTuple_GetItem(each.get(), i), depth - 1);
    if (item == nullptr || PyList_SetItem(copy.get(), i, item) != 0) return nullptr;
  }
  return copy.release();
}

PyObject* make_plain(PyObject*, PyObject* args) {
  PyObject* value = nullptr;
  int depth = kPlainDepth;
  return PyArg_ParseTuple(args, "O|i", &value, &depth) != 0 ? plain_copy(value, depth) : nullptr;
}

Method plain_functions[] = {
    reading<make_plain>(
        "plain", METH_VARARGS,
        "plain(value, depth=8, /): a copy for JSON that holds nothing of the program's."),
    {},
};

}  // namespace

PyObject* plain_copy(PyObject* value, int depth) noexcept {
  if (value == Py_None || PyUnicode_Check(value) || PyFloat_Check(value) || PyLong_Check(value)) {
    Py_INCREF(value);
    return value;
  }
  if (depth > 0 && PyDict_Check(value)) return copy_dict(value, depth);
  if (depth > 0 && (PyList_Check(value) || PyTuple_Check(value))) return copy_items(value, depth);
  const Ref name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__name__"));
  return name ? PyUnicode_FromFormat("<%U>", name.get()) : nullptr;
}

bool add_plain(PyObject* module) { return add_functions(module, plain_functions); }

}  // namespace genscope::python
