// The state dict in a pickle: the dict whose tensors are the model's weights.
#pragma once

#include <cstddef>
#include <string_view>

#include "genscope/inspect.h"
#include "inspect/read/torch/pickle.h"

namespace genscope::inspect {

// Index of the dict in Pickle::dicts(): the root, or one within it under a key that trainers use
// ("state_dict", "model", ...), else the one with the most tensors. Nothing if no dict that the
// root leads to has any.
std::optional<std::size_t> find_state_dict(const Pickle& pickle);

// Its tensors into `file`, the last one of each name, with notes on what is left out.
void take_state_dict(const Pickle& pickle, TensorFile& file);

}  // namespace genscope::inspect
