// What exec and posix_spawn take: the environment with changes, and words as pointers.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace genscope::base {

// "NAME=value" of this process's environment, those of `changed` replaced or added.
std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& changed);

// Into `words`, with a null behind the last: valid as long as they stay as they are.
std::vector<char*> pointers(std::vector<std::string>& words);

}  // namespace genscope::base
