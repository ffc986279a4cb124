// Arrow's C data interface: a table of ours as a struct array, without a copy of its columns.
//
// arrow(names, formats, buffers, texts, length) -> (schema capsule, array capsule). Formats as in
// columns.cc; a buffer is the bytes of a column, which the array keeps alive. -1 of "i" is null.
// https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "entry.h"

extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}

namespace genscope::python {
namespace {

constexpr std::int64_t kNullable = 2;

// What a schema or an array points into; freed by its release().
struct OwnedSchema {
  std::string format, name;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> child_pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};
struct OwnedArray {
  std::vector<const void*> buffers;
  std::vector<std::uint8_t> validity;
  std::vector<std::int32_t> offsets;  // of texts
  std::string text;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> child_pointers;
  std::unique_ptr<ArrowArray> dictionary;
  PyObject* keeps = nullptr;  // the bytes of the column
};

template <class Owned, class T>
void release(T* of) {
  auto* const owned = static_cast<Owned*>(of->private_data);
  for (auto& child : owned->children) {
    if (child->release != nullptr) child->release(child.get());
  }
  if (owned->dictionary && owned->dictionary->release != nullptr) {
    owned->dictionary->release(owned->dictionary.get());
  }
  if constexpr (std::is_same_v<Owned, OwnedArray>) {
    if (owned->keeps != nullptr && Py_IsInitialized() != 0) {  // on any thread
      const PyGILState_STATE state = PyGILState_Ensure();
      Py_DECREF(owned->keeps);
      PyGILState_Release(state);
    }
  }
  delete owned;
  of->release = nullptr;
}

void finish(ArrowSchema& schema, std::unique_ptr<OwnedSchema> owned, std::int64_t flags) {
  for (const auto& child : owned->children) owned->child_pointers.push_back(child.get());
  schema = {owned->format.c_str(),
            owned->name.c_str(),
            nullptr,
            flags,
            static_cast<std::int64_t>(owned->children.size()),
            owned->child_pointers.data(),
            owned->dictionary.get(),
            release<OwnedSchema, ArrowSchema>,
            nullptr};
  schema.private_data = owned.release();
}

void finish(ArrowArray& array, std::unique_ptr<OwnedArray> owned, std::int64_t length,
            std::int64_t nulls) {
  for (const auto& child : owned->children) owned->child_pointers.push_back(child.get());
  array = {length,
           nulls,
           0,
           static_cast<std::int64_t>(owned->buffers.size()),
           static_cast<std::int64_t>(owned->children.size()),
           owned->buffers.data(),
           owned->child_pointers.data(),
           owned->dictionary.get(),
           release<OwnedArray, ArrowArray>,
           nullptr};
  array.private_data = owned.release();
}

// The texts that a column of numbers points to.
bool fill_texts(PyObject* list, ArrowArray& array) {
  auto owned = std::make_unique<OwnedArray>();
  owned->offsets.push_back(0);
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    std::string_view text;
    if (!text_of(PyList_GetItem(list, i), text)) return false;
    owned->text += text;
    owned->offsets.push_back(static_cast<std::int32_t>(owned->text.size()));
  }
  owned->buffers = {nullptr, owned->offsets.data(), owned->text.data()};
  finish(array, std::move(owned), PyList_Size(list), 0);
  return true;
}

bool fill_column(PyObject* bytes, char format, PyObject* texts, std::int64_t length,
                 ArrowArray& array) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return false;
  if (size != length * (format == 'i' ? 4 : 8)) {
    PyErr_SetString(PyExc_ValueError, "arrow: a column of another length");
    return false;
  }
  auto owned = std::make_unique<OwnedArray>();
  std::int64_t nulls = 0;
  if (format == 'i') {
    owned->validity.assign(static_cast<std::size_t>((length + 7) / 8), 0);
    for (std::int64_t i = 0; i < length; ++i) {
      std::int32_t at = 0;
      std::memcpy(&at, data + 4 * i, 4);
      if (at < 0) {
        nulls++;
      } else {
        owned->validity[static_cast<std::size_t>(i / 8)] |=
            static_cast<std::uint8_t>(1U << (i % 8));
      }
    }
    owned->dictionary = std::make_unique<ArrowArray>();
    if (!fill_texts(texts, *owned->dictionary)) return false;
  }
  owned->buffers = {nulls > 0 ? owned->validity.data() : nullptr, data};
  Py_INCREF(bytes);
  owned->keeps = bytes;
  finish(array, std::move(owned), length, nulls);
  return true;
}

void fill_schema(char format, std::string_view column, ArrowSchema& schema) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->name = column;
  owned->format = format == 'd' ? "g" : format == 'i' ? "i" : "l";
  if (format == 'i') {
    owned->dictionary = std::make_unique<ArrowSchema>();
    auto texts = std::make_unique<OwnedSchema>();
    texts->format = "u";
    finish(*owned->dictionary, std::move(texts), kNullable);
  }
  finish(schema, std::move(owned), kNullable);
}

template <class T>
void free_capsule(PyObject* capsule) {
  auto* const held = static_cast<T*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (held == nullptr) return;
  if (held->release != nullptr) held->release(held);
  delete held;
}

PyObject* make_arrow(PyObject*, PyObject* args) {
  PyObject *names = nullptr, *formats = nullptr, *buffers = nullptr, *texts = nullptr;
  long long length = 0;
  if (PyArg_ParseTuple(args, "OOOOL", &names, &formats, &buffers, &texts, &length) == 0) {
    return nullptr;
  }
  auto schema = std::make_unique<OwnedSchema>();
  auto array = std::make_unique<OwnedArray>();
  schema->format = "+s";
  for (Py_ssize_t i = 0; i < PyList_Size(names); ++i) {
    std::string_view column, format;
    schema->children.push_back(std::make_unique<ArrowSchema>());
    array->children.push_back(std::make_unique<ArrowArray>());
    if (!text_of(PyList_GetItem(names, i), column) ||
        !text_of(PyList_GetItem(formats, i), format) || format.empty() ||
        !fill_column(PyList_GetItem(buffers, i), format[0], PyList_GetItem(texts, i), length,
                     *array->children.back())) {
      return nullptr;
    }
    fill_schema(format[0], column, *schema->children.back());
  }
  array->buffers = {nullptr};
  auto out_schema = std::make_unique<ArrowSchema>();
  auto out_array = std::make_unique<ArrowArray>();
  const Ref first(PyCapsule_New(out_schema.get(), "arrow_schema", free_capsule<ArrowSchema>));
  if (!first) return nullptr;
  ArrowSchema& schema_of_all = *out_schema.release();
  const Ref second(PyCapsule_New(out_array.get(), "arrow_array", free_capsule<ArrowArray>));
  if (!second) return nullptr;
  ArrowArray& array_of_all = *out_array.release();
  finish(schema_of_all, std::move(schema), 0);
  finish(array_of_all, std::move(array), length, 0);
  return PyTuple_Pack(2, first.get(), second.get());
}

Method arrow_functions[] = {
    reading<make_arrow>("arrow", METH_VARARGS,
                        "arrow(names, formats, buffers, texts, length) -> tuple"),
    {},
};

}  // namespace

bool add_arrow(PyObject* module) { return add_functions(module, arrow_functions); }

}  // namespace genscope::python
