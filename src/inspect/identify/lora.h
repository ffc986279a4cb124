// Adapters: LoRA and its relatives, their ranks and the model they are for.
#pragma once

#include <optional>

#include "inspect/identify/tensor_view.h"

namespace genscope::inspect {

struct LoraFinding {
  Lora lora;
  std::vector<std::string> evidence;
  Confidence confidence = Confidence::high;  // medium: the target is not known, or one of several
  std::vector<std::string> bases;            // all models that have its modules; the first is taken
  std::string_view release;  // the title of one release of it, where that has a name of its own
};

// Nothing if less than half of the names are those of an adapter.
std::optional<LoraFinding> find_lora(const TensorFile& file);

}  // namespace genscope::inspect
