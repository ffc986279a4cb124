// Quantised files: which tensors are bookkeeping, how many weights a packed tensor holds, and what
// the scheme is called.
#pragma once

#include <string>
#include <vector>

#include "inspect/identify/tensor_view.h"

namespace genscope::inspect {

// Sums over the tensors of one part.
struct Contents {
  std::uint64_t tensors = 0;
  std::uint64_t parameters = 0;  // weights, unpacked; without scales, codes and buffers
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  std::vector<DtypeShare> dtypes;  // largest first
  std::string quantisation;        // "" if the weights are plain numbers
};

// Whether a tensor is no weight of the model, but belongs to a quantiser or is a buffer.
bool is_bookkeeping(std::string_view name);
// A name without its last word, "weight" or "bias", or what a quantiser made of it.
std::string_view without_weight(std::string_view name);

// `buffers`: names without the part's prefix that are stored, but are not parameters.
Contents contents(const TensorView& part, std::span<const std::string_view> buffers);

}  // namespace genscope::inspect
