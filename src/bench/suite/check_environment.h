// What a suite asks of the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/suite/suite.h"

namespace genscope::bench {

// Names for `require`, and words for `warn`.
const std::vector<std::string>& required_names();
const std::vector<std::string>& warned_names();
// "load>0.3" -> load, '>', 0.3; "governor" -> governor. Nothing if it is neither.
struct WarnRule {
  std::string name;
  char sign = 0;  // '<', '>', or 0: the usual limit
  double limit = 0;
};
std::optional<WarnRule> warn_rule(std::string_view text);

// Adds a check for each requirement and warning. A requirement that does not hold is `unfit` if the
// suite says fail, else `warn`; one that cannot be read is as if it did not hold.
void check_environment(const SuiteEnvironment& asked, Environment& environment);
bool is_unfit(const Environment& environment);

}  // namespace genscope::bench
