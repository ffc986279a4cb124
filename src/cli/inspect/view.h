// What `genscope inspect` prints: pure functions of a Model.
#pragma once

#include <string>
#include <vector>

#include <genscope/inspect.h>

#include "cli/watch/cells.h"

namespace genscope::cli::inspect {

// `files`: headers for --tensors; empty without it.
std::string model_text(const Model& model, const std::vector<TensorFile>& files,
                       const watch::Look& look);
// One document, schema genscope.model/1 (docs/models.md).
std::string model_json(const Model& model, const std::vector<TensorFile>& files);

// The model's notes, those about safety first.
std::vector<std::string> ordered_notes(const Model& model);

}  // namespace genscope::cli::inspect
