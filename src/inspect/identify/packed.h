// Weights that a quantiser packed: several in one stored number, under a name of its own, with the
// shape of the packing. Here they get back their shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <genscope/inspect.h>

namespace genscope::inspect {

class TensorIndex;

struct Packed {
  std::string_view scheme;  // "gptq", "awq", "mlx", "quanto", "torchao", "svdquant", ...
  unsigned bits = 0;        // of a weight; 0: not known
  bool floating = false;    // fp8, fp4
  std::uint64_t weights = 0;
  std::uint64_t rows = 0, columns = 0;  // as torch has a layer: out, in; 0: not known
};

// What a packed weight holds; nothing if the tensor is an ordinary one or belongs to a packed one.
std::optional<Packed> unpack(const TensorIndex& index, const Tensor& tensor);

// Names that a quantiser may give to the weight "X.weight". `stem` is "X.".
constexpr std::string_view kPackedNames[] = {
    "qweight",       "weight._data",   "weight._data._data",
    "_weight_qdata", "weight.__qdata", "weight_packed"};

// The module of a packed weight, with the dot: "X." of "X.qweight". "" if the name is not of one.
std::string_view packed_stem(std::string_view name);

}  // namespace genscope::inspect
