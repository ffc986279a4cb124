// genscope._core.CacheKey: a canonical key, made of str, bytes, int, float, bool, None, lists,
// tuples and dicts of them. What else there is (arrays, tensors) a function of Python turns into
// (dtype, shape, bytes), or into one of the others, or refuses.
#include "optimize_key.h"

#include <algorithm>
#include <string>
#include <vector>

namespace genscope::python {
namespace {

PyTypeObject* g_key_type = nullptr;
PyObject* g_convert =
    nullptr;  // convert(object) -> a plain value, or (dtype, shape, bytes) as a list

bool add_part(optimize::KeyBuilder& builder, PyObject* part);

bool add_int(optimize::KeyBuilder& builder, PyObject* part) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(part, &overflow);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  if (overflow == 0) {
    builder.add(value);
    return true;
  }
  const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(part) : 0;
  if (overflow > 0 && PyErr_Occurred() == nullptr) {
    builder.add(large);
    return true;
  }
  PyErr_Clear();
  const Ref text(PyObject_Str(part));
  std::string_view decimal;
  if (!text || !text_of(text.get(), decimal)) return false;
  builder.add_big_integer(decimal);
  return true;
}

std::span<const std::byte> bytes_in(PyObject* part) noexcept {
  return {reinterpret_cast<const std::byte*>(PyBytes_AsString(part)),
          static_cast<std::size_t>(PyBytes_Size(part))};
}

bool add_sequence(optimize::KeyBuilder& builder, PyObject* part) {
  const Py_ssize_t count = PySequence_Size(part);
  if (count < 0) return false;
  builder.begin_list(static_cast<std::size_t>(count));
  for (Py_ssize_t at = 0; at < count; ++at) {
    const Ref item(PySequence_GetItem(part, at));
    if (!item || !add_part(builder, item.get())) return false;
  }
  return true;
}

// Sorted by name: the order in which a dict was filled does not matter.
bool add_dict(optimize::KeyBuilder& builder, PyObject* dict) {
  const Ref keys(PyDict_Keys(dict));
  if (!keys) return false;
  const Py_ssize_t count = PyList_Size(keys.get());
  for (Py_ssize_t at = 0; at < count; ++at) {
    if (PyUnicode_Check(PyList_GetItem(keys.get(), at)) == 0) {
      PyErr_SetString(PyExc_TypeError, "a dict in a cache key has names of type str only");
      return false;
    }
  }
  if (PyList_Sort(keys.get()) != 0) return false;
  builder.begin_map(static_cast<std::size_t>(count));
  for (Py_ssize_t at = 0; at < count; ++at) {
    PyObject* const name = PyList_GetItem(keys.get(), at);
    PyObject* const value = PyDict_GetItemWithError(dict, name);
    std::string_view text;
    if (value == nullptr || !text_of(name, text)) return false;
    builder.add(text);
    if (!add_part(builder, value)) return false;
  }
  return true;
}

// (dtype, shape, bytes)
bool add_array(optimize::KeyBuilder& builder, PyObject* array) {
  const char* dtype = nullptr;
  PyObject *shape = nullptr, *content = nullptr;
  if (PyArg_ParseTuple(array, "sO!O!", &dtype, &PyTuple_Type, &shape, &PyBytes_Type, &content) == 0)
    return false;
  std::vector<std::int64_t> sizes;
  for (Py_ssize_t at = 0; at < PyTuple_Size(shape); ++at) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GetItem(shape, at)));
  }
  if (PyErr_Occurred() != nullptr) return false;
  builder.add_array(dtype, sizes, bytes_in(content));
  return true;
}

bool add_other(optimize::KeyBuilder& builder, PyObject* part) {
  if (g_convert == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this type cannot be part of a cache key");
    return false;
  }
  // ("array", (dtype, shape, bytes)) or ("plain", value)
  const Ref converted(PyObject_CallFunctionObjArgs(g_convert, part, nullptr));
  if (!converted) return false;
  const char* what = nullptr;
  PyObject* value = nullptr;
  if (PyArg_ParseTuple(converted.get(), "sO", &what, &value) == 0) return false;
  return what[0] == 'a' ? add_array(builder, value) : add_part(builder, value);
}

bool add_part_within(optimize::KeyBuilder& builder, PyObject* part) {
  if (part == Py_None) {
    builder.add(nullptr);
    return true;
  }
  if (PyBool_Check(part)) {
    builder.add(part == Py_True);
    return true;
  }
  if (PyUnicode_Check(part) != 0) {
    std::string_view text;
    if (!text_of(part, text)) return false;
    builder.add(text);
    return true;
  }
  if (PyLong_Check(part) != 0) return add_int(builder, part);
  if (PyFloat_Check(part) != 0) {
    builder.add(PyFloat_AsDouble(part));
    return true;
  }
  if (PyBytes_Check(part) != 0) {
    builder.add(bytes_in(part));
    return true;
  }
  if (PyList_Check(part) != 0 || PyTuple_Check(part) != 0) return add_sequence(builder, part);
  if (PyDict_Check(part) != 0) return add_dict(builder, part);
  if (is_cache_key(part)) {
    const std::string_view bytes = KeyObject::of(part).bytes();
    builder.add(std::as_bytes(std::span(bytes.data(), bytes.size())));
    return true;
  }
  return add_other(builder, part);
}

bool add_part(optimize::KeyBuilder& builder, PyObject* part) {
  if (Py_EnterRecursiveCall(" in a cache key") != 0) return false;
  const bool added = add_part_within(builder, part);
  Py_LeaveRecursiveCall();
  return added;
}

// cache_key(kind, parts, named, /)
PyObject* cache_key(PyObject*, PyObject* args) {
  PyObject *kind = nullptr, *parts = nullptr, *named = nullptr;
  if (PyArg_ParseTuple(args, "UO!O!", &kind, &PyTuple_Type, &parts, &PyDict_Type, &named) == 0)
    return nullptr;
  std::string_view text;
  if (!text_of(kind, text)) return nullptr;
  optimize::KeyBuilder builder(text);
  if (!add_sequence(builder, parts) || !add_dict(builder, named)) return nullptr;
  return KeyObject::make(g_key_type, builder.build());
}

// cache_key_convert(function, /)
PyObject* cache_key_convert(PyObject*, PyObject* function) {
  PyObject* const before = std::exchange(g_convert, another(function).release());
  Py_XDECREF(before);
  return none();
}

PyObject* key_kind(PyObject* self, void*) { return to_str(KeyObject::of(self).kind()); }
PyObject* key_hex(PyObject* self, void*) { return to_str(KeyObject::of(self).hex()); }
PyObject* key_repr(PyObject* self) {
  const optimize::Key& key = KeyObject::of(self);
  return to_str("<genscope.optimize key " + std::string(key.kind()) + " " + key.hex() + ">");
}
Py_hash_t key_hash(PyObject* self) {
  const auto hash = static_cast<Py_hash_t>(KeyObject::of(self).low());
  return hash == -1 ? -2 : hash;
}
PyObject* key_compare(PyObject* a, PyObject* b, int operation) {
  if (!is_cache_key(b) || (operation != Py_EQ && operation != Py_NE)) {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
  }
  return PyBool_FromLong((KeyObject::of(a) == KeyObject::of(b)) == (operation == Py_EQ) ? 1 : 0);
}

Value key_values[] = {
    value<key_kind>("kind", "Its first part."),
    value<key_hex>("hex", "Its 128-bit hash, 32 digits."),
    {},
};
Slot key_slots[] = {
    Slot::dealloc<KeyObject::dealloc>(),
    Slot::repr<key_repr>(),
    Slot::reading<key_hash>(Py_tp_hash),
    Slot::reading<key_compare>(Py_tp_richcompare),
    Slot(key_values),
    {},
};
constexpr TypeSpec key_spec = {"genscope._core.CacheKey", sizeof(KeyObject), key_slots, kMadeHere};

Method optimize_key_functions[] = {
    reading<cache_key>("cache_key", METH_VARARGS, "cache_key(kind, parts, named, /)"),
    reading<cache_key_convert>("cache_key_convert", METH_O, "cache_key_convert(function, /)"),
    {},
};

}  // namespace

bool is_cache_key(PyObject* object) noexcept { return Py_TYPE(object) == g_key_type; }

const optimize::Key* key_of(PyObject* object, optimize::Key& made) {
  if (is_cache_key(object)) return &KeyObject::of(object);
  optimize::KeyBuilder builder("value");
  if (!add_part(builder, object)) return nullptr;
  made = builder.build();
  return &made;
}

bool add_optimize_key(PyObject* module) {
  g_key_type = make_type(module, key_spec);
  if (g_key_type == nullptr) return false;
  const Ref type = another(reinterpret_cast<PyObject*>(g_key_type));
  return PyModule_AddObjectRef(module, "CacheKey", type.get()) == 0 &&
         add_functions(module, optimize_key_functions);
}

}  // namespace genscope::python
