// Starting the watched command, so that it cannot tell that it is watched.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <genscope/error.h>

namespace genscope::watch {

inline constexpr int kNotFound = 127;  // as shells have it
inline constexpr int kNotExecutable = 126;

// A program that cannot be started: what to say, and the exit code.
struct CannotStart {
  int exit_code = kNotFound;
  std::string message;
  bool no_process = false;  // it could be run, but not beside us: run_instead() may help
};

// The file that a shell would run for this word: itself if it has a slash, else from PATH. On
// failure `why` is set and the result empty.
std::string find_command(const std::string& word, const char* path, CannotStart& why);

// Starts `file` with `command` as its words: our descriptors, group, directory and environment
// (with `environment` on top), and the signals as they were when we started. A script without #!
// is given to /bin/sh. `outputs` become its stdout and stderr; -1: ours. The pid, or 0 and `why`.
pid_t start_command(const std::string& file, std::vector<std::string> command,
                    const std::vector<std::pair<std::string, std::string>>& environment,
                    CannotStart& why, std::array<int, 2> outputs = {-1, -1});

// Becomes the command, which runs as if we had never been; returns only if it cannot be run.
void run_instead(const std::string& file, std::vector<std::string> command);

// 0..255, or 128 + the signal that ended it.
int exit_code_of(int wait_status);

}  // namespace genscope::watch
