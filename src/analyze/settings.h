// What a program says of itself: the arguments of its sessions and of the events "config" and
// "environment". Keys as in the table of facts (docs/rules.md): "set.steps",
// "model.arch[denoiser]", "env.torch"; a plain key such as "steps" is left as it is.
//
// What is told holds in its process until the same key is told again. A run may so have several
// values of a key, each with the requests that began under it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <genscope/trace.h>

#include "trace/arguments.h"

namespace genscope::analysis {

using Settings = std::map<std::string, trace::ArgValue, std::less<>>;

// Of all processes; of several values of a key that under which most requests began, and the first
// that was told where no request or as many did. Linear in the arguments, and in the requests for
// each key that changed.
Settings settings_of(const Run& run);

struct SettingUse {
  trace::ArgValue value;
  std::uint64_t requests = 0;
};
// A key of which at least two values had requests; those values, in the order in which they were
// told.
struct MixedSetting {
  std::string key;
  std::vector<SettingUse> values;
};
// In the order of their keys. What settings_of() gives for these does not hold for the whole run.
std::vector<MixedSetting> settings_that_differ(const Run& run);

// 20, "true" or a text as it is.
std::string setting_text(const trace::ArgValue& value);

}  // namespace genscope::analysis
