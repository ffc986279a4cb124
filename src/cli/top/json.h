// A frame as one JSON object on one line (docs/top.md).
#pragma once

#include <string>

#include "cli/top/frame.h"

namespace genscope::cli::top {

// Ends with a newline; valid UTF-8 whatever names hold. A value that is not known is null, and
// `absent` of the same object says why.
std::string frame_json(const Frame& frame);

}  // namespace genscope::cli::top
