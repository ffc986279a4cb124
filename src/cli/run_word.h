// RUN on the command line: nothing, last, last~2, a name, the start of one, a path.
#pragma once

#include <string>

#include <genscope/error.h>

namespace genscope::cli {

// For the help of an option.
inline constexpr const char* kRunHelp =
    "last (default), last~2, a name or the start of one, a run's directory or a trace file";

// The path that the word names.
Result<std::string> run_path(const std::string& word);

}  // namespace genscope::cli
