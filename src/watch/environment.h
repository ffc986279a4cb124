// What of the environment changes how fast a command runs: recorded by `genscope run`, so that
// rules can ask for it and two runs can be compared.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace genscope::watch {

// Variable -> value, of those that are set and known to matter (never all of them: others hold
// secrets). "env.NAME"; and flags as rules know them ("env.launch_blocking").
struct Environment {
  std::vector<std::pair<std::string, std::string>> values;
  bool launch_blocking = false;
};
Environment watched_environment();

}  // namespace genscope::watch
