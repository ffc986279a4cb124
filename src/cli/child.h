// Running another program and waiting for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope::cli {

struct ChildOptions {
  std::vector<std::pair<std::string, std::string>> environment;  // set on top of ours
  enum class Stdout { inherit, to_stderr, discard } output = Stdout::inherit;
};

// Runs `command` (a path and its arguments) and waits. Its exit code, or 128 + the signal that
// ended it. It shares our process group, so Ctrl-C reaches it by itself; meanwhile we ignore it.
Result<int> run_child(const std::vector<std::string>& command, const ChildOptions& options);

// A program beside this executable, or in PATH.
Result<std::string> find_program(const std::string& name);

}  // namespace genscope::cli
