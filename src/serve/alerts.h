// What someone who watches a run should look at now.
#pragma once

#include <string>
#include <vector>

#include <genscope/store.h>

namespace genscope::serve {

struct Alert {
  const char* severity = "warning";  // info, warning, critical
  std::string text;
};
std::vector<Alert> alerts_of(const Progress& progress);

}  // namespace genscope::serve
