#include "cli/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/exec_words.h"

namespace genscope::cli {
namespace {

// Ignores keyboard signals while it lives, as system() does.
class IgnoreKeyboard {
 public:
  IgnoreKeyboard() {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~IgnoreKeyboard() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  IgnoreKeyboard(const IgnoreKeyboard&) = delete;
  IgnoreKeyboard& operator=(const IgnoreKeyboard&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction quit_ {};
};

int spawn(pid_t& pid, std::vector<std::string> command, const ChildOptions& options) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (options.output == ChildOptions::Stdout::to_stderr) {
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  } else if (options.output == ChildOptions::Stdout::discard) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  // What we ignore or handle is the child's to decide anew.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal_number : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE}) {
    sigaddset(&defaults, signal_number);
  }
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> environment = base::environment_with(options.environment);
  const int error = posix_spawn(&pid, command[0].c_str(), &actions, &attributes,
                                base::pointers(command).data(), base::pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& command, const ChildOptions& options) {
  const IgnoreKeyboard ignore;
  pid_t pid = 0;
  if (const int error = spawn(pid, command, options); error != 0) {
    return Error{error == EACCES ? ErrorCode::permission : ErrorCode::not_found,
                 fmt::format("cannot run {}: {}", command[0], std::strerror(error))};
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return Error{ErrorCode::io, fmt::format("waitpid: {}", std::strerror(errno))};
    }
  }
  constexpr int kSignalBase = 128;
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<std::string> find_program(const std::string& name) {
  std::vector<std::filesystem::path> folders;
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(self.parent_path());
  if (const char* path = std::getenv("PATH")) {
    std::istringstream entries(path);
    for (std::string entry; std::getline(entries, entry, ':');) {
      if (!entry.empty()) folders.emplace_back(entry);
    }
  }
  for (const auto& folder : folders) {
    const std::filesystem::path candidate = folder / name;
    if (access(candidate.c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(candidate, failed)) {
      return candidate.string();
    }
  }
  return Error{ErrorCode::not_found,
               fmt::format("cannot find {}: it is neither beside genscope nor in PATH", name)};
}

}  // namespace genscope::cli
