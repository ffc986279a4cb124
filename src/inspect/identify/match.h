// Applying rules to the tensors of one part.
#pragma once

#include <optional>

#include "inspect/identify/rule.h"
#include "inspect/identify/tensor_view.h"

namespace genscope::inspect {

struct Match {
  const Rule* rule = nullptr;
  Identity identity;
  TensorView view;  // under the prefix with which the names were found
};

// The first rule of all tables whose names are there, as they are or without a prefix that most of
// them share; nothing if none is.
std::optional<Match> match(const TensorView& part);

// The rule of an architecture, or null.
const Rule* find_rule(std::string_view architecture);
// The architecture that a GGUF file means by general.architecture; "" if we do not know it.
std::string_view gguf_architecture(std::string_view name);

}  // namespace genscope::inspect
