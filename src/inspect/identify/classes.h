// Class names of configs: what diffusers and transformers call a part.
#pragma once

#include <span>
#include <string_view>

#include <genscope/inspect.h>

namespace genscope::inspect {

struct ConfigClass {
  std::string_view name;
  // Or several, between blanks, of which the tensors tell the one. "": it tells the family only.
  std::string_view architecture;
  Family family = Family::unknown;  // unknown: as the tensors say
  std::string_view title = {};      // "": as the tensors say
};

// By name, or by how a name ends (schedulers, tokenizers); null if we do not know it.
const ConfigClass* find_class(std::string_view name);

// Lets a class name confirm, complete or contradict what the tensors told. Tensors decide; a class
// alone gives low confidence.
void weigh_class(std::string_view class_name, Identity& identity);

}  // namespace genscope::inspect
