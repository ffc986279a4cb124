// The parts of a suite file, one reader each. All mistakes go to `mistakes`.
#pragma once

#include "bench/suite/section.h"
#include "bench/suite/suite.h"

namespace genscope::bench {

void read_defaults(Section& root, Suite& suite, Mistakes& mistakes);
void read_matrix(Section& root, Suite& suite, Mistakes& mistakes);
// `folder`: of the suite file, from which the file of prompts is named. `content`: what it holds.
void read_prompts(Section& root, const std::string& folder, Suite& suite, Mistakes& mistakes);
void read_metrics(Section& root, Suite& suite, Mistakes& mistakes);
void read_targets(Section& root, Suite& suite, Mistakes& mistakes);
void read_load(Section& root, const std::string& folder, Suite& suite, Mistakes& mistakes);
void read_judging(Section& root, Suite& suite, Mistakes& mistakes);  // quality ... compare

// Calls `take` with a Section for each map of the list at `name`; what is no list is a mistake.
template <class Take>
void each_in_list(Section& section, const char* name, Mistakes& mistakes, const Take& take) {
  const config::YamlValue* const list = section.any(name);
  if (list == nullptr || list->kind == config::YamlValue::Kind::null) return;
  const std::string path = section.path().empty() ? name : section.path() + "." + name;
  if (list->kind != config::YamlValue::Kind::list) {
    section.wrong(list->line, name, "expected a list");
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    Section item(list->items[i], path + "[" + std::to_string(i) + "]", mistakes);
    take(item);
  }
}

// {name} of a value that there is not, in what the runner runs.
void check_names(const config::YamlValue& root, const Suite& suite, Mistakes& mistakes);

}  // namespace genscope::bench
