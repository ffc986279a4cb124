// The command line as a whole: parsing, dispatch, and what is said when it goes wrong.
#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace genscope::cli {

// Runs `genscope` with these arguments and returns its exit code.
int run_app(int argc, const char* const* argv, std::vector<std::unique_ptr<Command>> commands);

}  // namespace genscope::cli
