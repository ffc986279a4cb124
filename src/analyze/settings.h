// What a program says of itself: the arguments of its sessions and of the events "config" and
// "environment". Keys as in the table of facts (docs/rules.md): "set.steps",
// "model.arch[denoiser]", "env.torch"; a plain key such as "steps" is left as it is.
#pragma once

#include <map>
#include <string>

#include <genscope/trace.h>

#include "trace/arguments.h"

namespace genscope::analysis {

using Settings = std::map<std::string, trace::ArgValue, std::less<>>;

// Of all processes; of two that say the same key, the first. Linear in the arguments.
Settings settings_of(const Run& run);

}  // namespace genscope::analysis
