#include "watch/program.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/exec_words.h"
#include "watch/signals.h"

namespace genscope::watch {
namespace {

// 0 if a shell could run it, else the errno.
int why_not(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

CannotStart explain(const std::string& word, int error, bool found) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  if (missing && !found) {
    return {kNotFound, word.find('/') == std::string::npos
                           ? fmt::format("cannot run '{}': it is not in PATH", word)
                           : fmt::format("cannot run '{}': there is no such file", word)};
  }
  if (missing) {
    return {kNotFound,
            fmt::format("cannot run '{}': the interpreter that it names is missing", word)};
  }
  const char* what = error == EISDIR   ? "it is a directory"
                     : error == EACCES ? "it is not executable (chmod +x would help)"
                                       : std::strerror(error);
  return {kNotExecutable, fmt::format("cannot run '{}': {}", word, what)};
}

int spawn(pid_t& pid, const std::string& file, std::vector<std::string>& words,
          std::vector<std::string>& environment, std::array<int, 2> outputs) {
  const SignalState& start = signals_at_start();
  // By bits: sigfillset and sigdelset leave out the two signals that threads use, and posix_spawn
  // ignores those unless told otherwise.
  std::array<unsigned long, sizeof(sigset_t) / sizeof(unsigned long)> bits;
  bits.fill(~0UL);
  constexpr std::size_t kWord = 8 * sizeof(unsigned long);
  for (std::size_t number = 1; number < start.ignored.size(); ++number) {
    if (start.ignored[number]) bits[(number - 1) / kWord] &= ~(1UL << ((number - 1) % kWord));
  }
  sigset_t defaults;
  std::memcpy(&defaults, bits.data(), sizeof defaults);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &start.mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 2; ++i) {
    const int output = outputs[static_cast<std::size_t>(i)];
    if (output >= 0) posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO + i);
  }
  const int error = posix_spawn(&pid, file.c_str(), &actions, &attributes,
                                base::pointers(words).data(), base::pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

}  // namespace

std::string find_command(const std::string& word, const char* path, CannotStart& why) {
  if (word.find('/') != std::string::npos) {
    const int error = why_not(word);
    if (error == 0) return word;
    why = explain(word, error, false);
    return {};
  }
  int best = ENOENT;  // the first reason other than that it is not there
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; !word.empty() && std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + word;
    const int error = why_not(candidate);
    if (error == 0) return candidate;
    if (best == ENOENT && error == EACCES) best = error;
  }
  why = explain(word, best, false);
  return {};
}

pid_t start_command(const std::string& file, std::vector<std::string> command,
                    const std::vector<std::pair<std::string, std::string>>& environment,
                    CannotStart& why, std::array<int, 2> outputs) {
  std::vector<std::string> variables = base::environment_with(environment);
  pid_t pid = 0;
  int error = spawn(pid, file, command, variables, outputs);
  if (error == ENOEXEC) {
    std::vector<std::string> by_shell = {"/bin/sh", file};
    by_shell.insert(by_shell.end(), command.begin() + 1, command.end());
    error = spawn(pid, by_shell[0], by_shell, variables, outputs);
  }
  if (error == 0) return pid;
  why = explain(command[0], error, true);
  why.no_process = error == EAGAIN || error == ENOMEM;
  return 0;
}

void run_instead(const std::string& file, std::vector<std::string> command) {
  restore_signals();
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  execv(file.c_str(), base::pointers(command).data());
  if (errno != ENOEXEC) return;
  std::vector<std::string> by_shell = {"/bin/sh", file};
  by_shell.insert(by_shell.end(), command.begin() + 1, command.end());
  execv(by_shell[0].c_str(), base::pointers(by_shell).data());
}

int exit_code_of(int wait_status) {
  constexpr int kSignalBase = 128;
  return WIFSIGNALED(wait_status) ? kSignalBase + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace genscope::watch
