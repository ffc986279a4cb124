// The calls of a pickle that mean tensors.
#include <algorithm>

#include "inspect/read/dtype.h"
#include "inspect/read/tensor_list.h"
#include "inspect/read/torch/pickle.h"

namespace genscope::inspect {

bool Pickle::call(const Value& function, const Value& arguments, int depth, Value& result) {
  result = {};
  if (function.kind != Kind::global) return true;
  const Value* const first = item(arguments, 0);
  switch (static_cast<Role>(function.at)) {
    case Role::dict:
      dicts_.emplace_back();
      result = {dicts_.size() - 1, 0, Kind::dict};
      return true;
    case Role::size:
    case Role::parameter:
      if (first != nullptr) result = *first;
      return true;
    case Role::tensor:
      return build_tensor(arguments, false, result);
    case Role::typed_tensor:
      return build_tensor(arguments, true, result);
    case Role::of_other_type: {
      constexpr int kMaxDepth = 4;
      const Value* const inner = item(arguments, 2);
      if (first == nullptr || inner == nullptr || depth >= kMaxDepth) return true;
      return call(*first, *inner, depth + 1, result);
    }
    default:
      return true;
  }
}

// ("storage", type, key, device, elements[, view])
bool Pickle::build_storage(const Value& id, Value& result) {
  result = {};
  const Value* const type = item(id, 1);
  const Value* const count = item(id, 4);
  if (type == nullptr || count == nullptr || text(*item(id, 0)) != "storage") return true;
  if (type->kind != Kind::global || static_cast<Role>(type->at) != Role::storage) return true;
  const auto dtype = static_cast<Dtype>(type->size);
  const auto elements = static_cast<std::int64_t>(count->at);
  if (count->kind != Kind::integer || elements < 0) return fail("a storage of no or negative size");
  const auto bytes = stored_bytes(dtype == Dtype::unknown ? Dtype::u8 : dtype,
                                  static_cast<std::uint64_t>(elements));
  if (!bytes || *bytes > file_bytes_) {
    return fail("a storage of " + std::to_string(elements) + " elements, more than the file has");
  }
  result = {*bytes, type->size, Kind::storage};
  return true;
}

bool Pickle::build_tensor(const Value& arguments, bool typed, Value& result) {
  const Value* const storage = item(arguments, 0);
  const Value* const sizes = item(arguments, 2);
  if (storage == nullptr || sizes == nullptr || storage->kind != Kind::storage ||
      sizes->kind != Kind::tuple) {
    return true;
  }
  Built built;
  ShapeBuilder shape;
  for (std::size_t i = 0; i < sizes->size; ++i) {
    const Value& size = *item(*sizes, i);
    if (size.kind != Kind::integer) return fail("a size of a tensor is not a whole number");
    if (static_cast<std::int64_t>(size.at) < 0) return fail("a size of a tensor is negative");
    if (!shape.add(size.at)) return fail("the product of a shape does not fit in 64 bits");
  }
  built.shape = shape.shape();
  built.folded = shape.folded();
  built.dtype = static_cast<Dtype>(storage->size);
  const Value* const dtype = typed ? item(arguments, 6) : nullptr;
  if (dtype != nullptr && dtype->kind == Kind::global &&
      static_cast<Role>(dtype->at) == Role::dtype) {
    built.dtype = static_cast<Dtype>(dtype->size);
  }
  // An expanded view has more elements than its storage.
  built.bytes =
      std::min(stored_bytes(built.dtype, shape.elements()).value_or(storage->at), storage->at);
  tensors_.push_back(built);
  result = {tensors_.size() - 1, 0, Kind::tensor};
  return true;
}

}  // namespace genscope::inspect
