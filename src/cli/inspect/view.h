// What `genscope inspect` prints: pure functions of a Model.
#pragma once

#include <string>
#include <vector>

#include <genscope/inspect.h>

#include "watch/cells.h"

namespace genscope::cli::inspect {

// `files`: headers for --tensors; empty without it.
std::string model_text(const Model& model, const std::vector<TensorFile>& files,
                       const watch::Look& look);

}  // namespace genscope::cli::inspect
