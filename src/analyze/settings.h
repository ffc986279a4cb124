// What a program says of itself: the arguments of its sessions and of the events "config" and
// "environment". Keys as in the table of facts (docs/rules.md): "set.steps",
// "model.arch[denoiser]", "env.torch"; a plain key such as "steps" is left as it is.
//
// What is told holds in its process until the same key is told again, from the begin of the request
// that it is told in, if any. A run may so have several values of a key, each with the requests
// that began under it.
#pragma once

#include <string>
#include <vector>

#include <genscope/analyze.h>

namespace genscope::analysis {

// What a run was told. `values`: of several values of a key that under which most requests began,
// and the first that was told where no request or as many did. `mixed`: in the order of their keys.
// Linear in the arguments, and in the requests for each key that changed.
struct ToldSettings {
  Settings values;
  std::vector<MixedSetting> mixed;
};
ToldSettings told_settings(const Run& run);

// 20, "true" or a text as it is.
std::string setting_text(const SettingValue& value);

}  // namespace genscope::analysis
