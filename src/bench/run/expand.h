// {name} in a command.
#pragma once

#include <string>
#include <string_view>

#include <genscope/bench.h>

namespace genscope::bench {

// `text` with {name} replaced by the value, as it is: quotes are the user's. Braces around anything
// else stay, so that `${HOME}` and awk's blocks work.
std::string expand(std::string_view text, const Params& values);

// The parameters of a request, with prompt, seed and iteration where it has them; of a size
// (1024x768) also its parts, as "size.w".
Params values_of(const Request& request);

}  // namespace genscope::bench
