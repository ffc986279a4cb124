// posix_spawn() is a vfork: it copies no page tables, however large we are. The end of the program
// wakes poll() on its pidfd; it is then a zombie, whose /proc files still say what it read, wrote
// and waited for, until wait4() takes it away. stderr goes into one pipe that lives as long as the
// runner, so that a run needs no pipe of its own and a process left behind never gets SIGPIPE from
// us. Ten system calls a run beside the spawn.
#include "bench/run/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/file_reader.h"
#include "bench/run/cancel.h"
#include "genscope/bench.h"

namespace genscope::bench {
namespace {

constexpr std::int64_t kGraceNs = 2'000'000'000;  // between SIGTERM and SIGKILL

std::vector<char*> char_pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

struct FileActions {
  posix_spawn_file_actions_t value;
  FileActions() { posix_spawn_file_actions_init(&value); }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

struct Attributes {
  posix_spawnattr_t value;
  // Its own group, so that all of it can be ended; no signal that we ignore or block is ignored or
  // blocked in it.
  Attributes() {
    posix_spawnattr_init(&value);
    sigset_t defaults, none;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGHUP}) {
      sigaddset(&defaults, number);
    }
    posix_spawnattr_setsigdefault(&value, &defaults);
    posix_spawnattr_setsigmask(&value, &none);
    posix_spawnattr_setpgroup(&value, 0);
    posix_spawnattr_setflags(
        &value, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~Attributes() { posix_spawnattr_destroy(&value); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
};

// The text of /proc/PID/<file>, in `buffer`; empty if it cannot be read.
std::string_view proc_text(int pid, const char* file, std::span<char> buffer) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
  const base::UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  return got > 0 ? std::string_view(buffer.data(), static_cast<std::size_t>(got))
                 : std::string_view();
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = base::next_part(text, '\n');
    if (line.starts_with(key)) return leading_number(line.substr(key.size()));
  }
  return std::nullopt;
}

void read_usage(int pid, Ended& ended) {
  char buffer[1024];
  const std::string_view io = proc_text(pid, "io", buffer);
  ended.read_bytes = field(io, "read_bytes:");
  ended.write_bytes = field(io, "write_bytes:");
  std::string_view sched = proc_text(pid, "schedstat", buffer);
  const std::optional<std::uint64_t> on_cpu = leading_number(base::next_part(sched, ' '));
  const std::optional<std::uint64_t> waited = leading_number(base::next_part(sched, ' '));
  if (!on_cpu || !waited || *on_cpu == 0) return;  // a kernel without these figures says 0
  ended.first_thread_cpu_s = static_cast<double>(*on_cpu) * 1e-9;
  ended.first_thread_wait_s = static_cast<double>(*waited) * 1e-9;
}

std::uint64_t own_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

int wait_ms(std::int64_t until_ns) {  // rounded up
  const std::int64_t left = until_ns - base::monotonic_ns();
  return left <= 0
             ? 0
             : static_cast<int>(std::min<std::int64_t>((left + 999'999) / 1'000'000, 1 << 30));
}

}  // namespace

std::string find_in_path(const std::string& program) {
  if (program.empty() || program.find('/') != std::string::npos) return program;
  const char* const path = std::getenv("PATH");
  std::string_view folders = path != nullptr ? path : "/bin:/usr/bin";
  while (!folders.empty()) {
    const std::string_view folder = base::next_part(folders, ':');
    std::string place = std::string(folder.empty() ? "." : folder) + "/" + program;
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return program;
}

ProcessRunner::ProcessRunner() : null_(::open("/dev/null", O_RDWR | O_CLOEXEC)) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  errors_read_.reset(ends[0]);
  errors_write_.reset(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

// Which descriptors a program gets, and where it runs. Kept: making it takes as many system calls
// as all the rest.
struct ProcessRunner::Plan {
  ShowOutput show;
  std::string cwd;
  FileActions actions;
  Attributes attributes;
};

ProcessRunner::~ProcessRunner() = default;

int ProcessRunner::start(const Spawn& spawn, int& pid) {
  if (!plan_ || plan_->show != spawn.show || plan_->cwd != spawn.cwd) {
    plan_ = std::make_unique<Plan>();
    plan_->show = spawn.show;
    plan_->cwd = spawn.cwd;
    posix_spawn_file_actions_t* const actions = &plan_->actions.value;
    const auto connect = [&](int from, int to) {
      if (from >= 0) posix_spawn_file_actions_adddup2(actions, from, to);
    };
    connect(null_.get(), STDIN_FILENO);
    // What is shown goes to our stderr: stdout is for the result.
    connect(spawn.show == ShowOutput::all ? STDERR_FILENO : null_.get(), STDOUT_FILENO);
    if (spawn.show == ShowOutput::none) connect(errors_write_.get(), STDERR_FILENO);
    if (!spawn.cwd.empty()) posix_spawn_file_actions_addchdir_np(actions, spawn.cwd.c_str());
  }
  const std::vector<char*> argv = char_pointers(spawn.argv), env = char_pointers(spawn.env);
  return posix_spawnp(&pid, spawn.path.c_str(), &plan_->actions.value, &plan_->attributes.value,
                      argv.data(), env.data());
}

// Keeps the last kErrorsKept bytes.
void ProcessRunner::drain(std::string& errors) {
  if (!errors_read_.valid()) return;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(errors_read_.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    errors.append(buffer, static_cast<std::size_t>(got));
    if (errors.size() > 2 * kErrorsKept) errors.erase(0, errors.size() - kErrorsKept);
    if (static_cast<std::size_t>(got) < sizeof buffer) break;
  }
  if (errors.size() > kErrorsKept) errors.erase(0, errors.size() - kErrorsKept);
}

std::int64_t ProcessRunner::own_wait_ns() {
  const int thread = static_cast<int>(::syscall(SYS_gettid));
  if (thread != own_thread_) {
    own_thread_ = thread;
    own_schedstat_.reset(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
  }
  char buffer[128];
  if (!own_schedstat_.valid()) return 0;
  const ssize_t got = ::pread(own_schedstat_.get(), buffer, sizeof buffer, 0);
  std::string_view text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
  base::next_part(text, ' ');
  return static_cast<std::int64_t>(leading_number(base::next_part(text, ' ')).value_or(0));
}

void ProcessRunner::end_group(int pid, int pidfd) {
  ::kill(-pid, SIGTERM);
  const std::int64_t until = base::monotonic_ns() + kGraceNs;
  pollfd one{pidfd, POLLIN, 0};
  std::string dropped;
  while (::poll(&one, 1, std::min(wait_ms(until), 50)) <= 0 && wait_ms(until) > 0) drain(dropped);
  ::kill(-pid, SIGKILL);  // who is left of the group, too
}

void ProcessRunner::wait(int pid, const Spawn& spawn, Ended& ended) {
  const base::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const std::int64_t until =
      spawn.timeout_s ? ended.started_ns + static_cast<std::int64_t>(*spawn.timeout_s * 1e9) : 0;
  pollfd polled[3] = {{pidfd.get(), POLLIN, 0},
                      {spawn.show == ShowOutput::none ? errors_read_.get() : -1, POLLIN, 0},
                      {cancel_fd(), POLLIN, 0}};
  // Without a pidfd (Linux before 5.3) the process is asked every few milliseconds.
  const int longest = pidfd.valid() ? -1 : 2;
  for (;;) {
    int timeout = spawn.timeout_s ? wait_ms(until) : longest;
    if (longest > 0) timeout = std::min(timeout, longest);
    const std::int64_t waited = own_wait_ns();
    const int ready = ::poll(polled, 3, timeout);
    ended.ended_ns = base::monotonic_ns();
    if (ready > 0 && (polled[0].revents & POLLIN) != 0) {
      // On a busy machine we are woken late: that time is ours, not the program's.
      const std::int64_t late = own_wait_ns() - waited;
      ended.ended_ns = std::max(ended.started_ns, ended.ended_ns - std::max<std::int64_t>(0, late));
      return;
    }
    if (!pidfd.valid()) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) != 0 ||
          info.si_pid == pid) {
        return;
      }
    }
    if (ready > 0 && (polled[1].revents & POLLIN) != 0) drain(ended.errors);
    ended.cancelled = cancelled();
    ended.timed_out = spawn.timeout_s && ended.ended_ns >= until && !ended.cancelled;
    if (ended.cancelled || ended.timed_out) {
      end_group(pid, pidfd.get());
      return;
    }
  }
}

Ended ProcessRunner::run(const Spawn& spawn) {
  Ended ended;
  int pid = 0;
  ended.started_ns = base::monotonic_ns();
  ended.spawn_error = start(spawn, pid);
  if (ended.spawn_error != 0) return ended;
  wait(pid, spawn, ended);
  if (ended.cancelled || ended.timed_out) {  // it was told to end; it has to have done so
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
  }
  read_usage(pid, ended);
  while (::wait4(pid, &ended.status, 0, &ended.usage) < 0 && errno == EINTR) {
  }
  const auto peak = static_cast<std::uint64_t>(ended.usage.ru_maxrss) * 1024;
  if (peak > own_peak_bytes_) own_peak_bytes_ = own_peak_bytes();
  // The kernel adds up resident pages lazily, each CPU on its own: equal is not exactly equal.
  if (peak > own_peak_bytes_ + own_peak_bytes_ / 16 + (256 << 10)) ended.rss_peak_bytes = peak;
  if (spawn.show == ShowOutput::none) drain(ended.errors);
  return ended;
}

}  // namespace genscope::bench
