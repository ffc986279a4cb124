// The program is in a process group of its own, so that killing it ends what it started. Its errors
// go to a memory file, which cannot fill up and block it, and whose last line says why it failed.
// Every wait is a poll with what is left of the time.
#include "bench/quality/piped.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/exec_words.h"
#include "base/text.h"

extern char** environ;

namespace genscope::bench {
namespace {

// posix_spawn with our pipe as stdout, in a group of its own so that all of it can be ended.
int spawn_piped(std::vector<std::string>& argv, int out, int err, pid_t& pid) {
  const std::vector<char*> words = base::pointers(argv);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out, 1);
  posix_spawn_file_actions_adddup2(&files, err, 2);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawnp(&pid, words[0], &files, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

std::string last_line_of(int fd) {
  char buffer[2048];
  const off_t size = ::lseek(fd, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(sizeof buffer));
  const ssize_t got = ::pread(fd, buffer, sizeof buffer, from);
  std::string_view text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return base::to_utf8(text.substr(text.rfind('\n') + 1));
}

}  // namespace

Result<std::unique_ptr<Piped>> Piped::start(std::vector<std::string> argv, double timeout_s) {
  std::unique_ptr<Piped> piped(new Piped);
  piped->name_ = argv.at(0) == "sh" && argv.size() == 3 ? argv[2] : argv[0];
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::errno_error("pipe for", piped->name_, errno);
  piped->output_.reset(ends[0]);
  const base::UniqueFd out(ends[1]);
  piped->errors_.reset(::memfd_create("genscope-stderr", MFD_CLOEXEC));
  if (!piped->errors_.valid()) return base::errno_error("stderr for", piped->name_, errno);
  if (const int error = spawn_piped(argv, out.get(), piped->errors_.get(), piped->pid_);
      error != 0) {
    piped->pid_ = -1;
    return base::errno_error("start", piped->name_, error);
  }
  piped->deadline_ns_ = base::monotonic_ns() + static_cast<std::int64_t>(timeout_s * 1e9);
  return piped;
}

Piped::~Piped() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Error Piped::failed(std::string_view how) const {
  const std::string last = last_line_of(errors_.get());
  return {ErrorCode::io, fmt::format("`{}` {}{}{}", name_, how, last.empty() ? "" : ": ", last)};
}

Result<std::size_t> Piped::read(char* data, std::size_t size) {
  for (;;) {
    const std::int64_t left = deadline_ns_ - base::monotonic_ns();
    if (left <= 0) return failed("took too long and was ended");
    pollfd wanted{output_.get(), POLLIN, 0};
    const int ready =
        ::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 60'000)));
    if (ready < 0 && errno != EINTR) return base::errno_error("read from", name_, errno);
    if (ready <= 0) continue;
    const ssize_t got = ::read(output_.get(), data, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return base::errno_error("read from", name_, errno);
  }
}

Status Piped::finish() {
  if (pid_ < 0) return Done{};
  output_.reset();
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (base::monotonic_ns() > deadline_ns_) return failed("took too long and was ended");
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Done{};
  return WIFSIGNALED(status) ? failed(fmt::format("was ended by signal {}", WTERMSIG(status)))
                             : failed(fmt::format("exited with {}", WEXITSTATUS(status)));
}

Result<std::string> output_of(std::vector<std::string> argv, double timeout_s, std::size_t limit) {
  Result<std::unique_ptr<Piped>> piped = Piped::start(std::move(argv), timeout_s);
  if (!piped) return piped.error();
  std::string text;
  char buffer[4096];
  for (;;) {
    const Result<std::size_t> got = (*piped)->read(buffer, sizeof buffer);
    if (!got) return got.error();
    if (*got == 0) break;
    if (text.size() + *got > limit) return Error{ErrorCode::bad_data, "it printed too much"};
    text.append(buffer, *got);
  }
  if (const Status done = (*piped)->finish(); !done) return done.error();
  return text;
}

}  // namespace genscope::bench
