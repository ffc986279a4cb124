// What someone who watches a run should look at now.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <genscope/store.h>

namespace genscope::serve {

struct Alert {
  std::string_view severity = "warning";  // info, hint, warning, critical
  std::string rule;                       // docs/rules.md
  std::string text;
};
// The findings of the built-in rules on what is known right now.
std::vector<Alert> alerts_of(const Progress& progress);

}  // namespace genscope::serve
