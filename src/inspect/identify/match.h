// Applying rules to the tensors of one part.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/identify/rule.h"
#include "inspect/identify/tensor_view.h"

namespace genscope::inspect {

struct Match {
  const Rule* rule = nullptr;
  Identity identity;
  TensorView view;  // under the prefix with which the names were found
};

struct Matching {
  std::optional<Match> found;
  // Rules whose names are there and that were ruled out, each with the fact: something that is here
  // and not there, before something that is only not here.
  std::vector<std::string> excluded;
  std::size_t by_presence = 0;  // how many are of the first kind
};

// The first rule of all tables whose names are there, as they are or without a prefix that most of
// them share, and that no fact excludes: a test that fails, or a module that its architecture does
// not have. If a further rule remains, of another architecture, the confidence is medium at most.
Matching match(const TensorView& part);

// All rules, in the order in which they are tried.
std::vector<const Rule*> all_rules();

// The rule of an architecture, or null.
const Rule* find_rule(std::string_view architecture);
// The architecture that a GGUF file means by general.architecture; "" if we do not know it.
std::string_view gguf_architecture(std::string_view name);

}  // namespace genscope::inspect
