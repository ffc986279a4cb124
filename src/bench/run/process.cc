// The end of the program wakes poll() on its pidfd; it is then a zombie, whose /proc files still
// say how long it waited for a CPU, until wait4() takes it away, with the rest of what it used.
// stderr goes into one pipe that lives as long as the runner, so that a run needs no pipe of its
// own and a process left behind never gets SIGPIPE from us. Ten system calls a run beside the start
// of it.
#include "bench/run/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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
constexpr std::uint64_t kBlockBytes = 512;        // of rusage's counts

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

// Whether wait4() knows what a program read and wrote. A kernel that does not count says 0, and one
// that is not Linux may have a figure in /proc alone.
bool counts_blocks() {
  char buffer[1024];
  const std::string_view io = proc_text(::getpid(), "io", buffer);
  const std::optional<std::uint64_t> read = field(io, "read_bytes:");
  const std::optional<std::uint64_t> written = field(io, "write_bytes:");
  if (!read || !written) return false;
  rusage own{}, children{};  // /proc has both in one
  getrusage(RUSAGE_SELF, &own);
  getrusage(RUSAGE_CHILDREN, &children);
  return *read + *written < 2 * kBlockBytes ||
         own.ru_inblock + own.ru_oublock + children.ru_inblock + children.ru_oublock > 0;
}

void read_waiting(int pid, Ended& ended) {
  char buffer[256];
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

ProcessRunner::ProcessRunner()
    : null_(::open("/dev/null", O_RDWR | O_CLOEXEC)), counts_blocks_(counts_blocks()) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  errors_read_.reset(ends[0]);
  errors_write_.reset(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

int ProcessRunner::start(const Spawn& spawn, int& pid) {
  Descriptors descriptors{.in = null_.get(), .out = null_.get()};
  // What is shown goes to our stderr: stdout is for the result.
  if (spawn.show == ShowOutput::all) descriptors.out = STDERR_FILENO;
  if (spawn.show == ShowOutput::none) descriptors.err = errors_write_.get();
  return spawner_.start(spawn, descriptors, pid);
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
  read_waiting(pid, ended);
  while (::wait4(pid, &ended.status, 0, &ended.usage) < 0 && errno == EINTR) {
  }
  if (counts_blocks_) {
    ended.read_bytes = static_cast<std::uint64_t>(ended.usage.ru_inblock) * kBlockBytes;
    ended.write_bytes = static_cast<std::uint64_t>(ended.usage.ru_oublock) * kBlockBytes;
  }
  const auto peak = static_cast<std::uint64_t>(ended.usage.ru_maxrss) * 1024;
  if (peak > own_peak_bytes_) own_peak_bytes_ = own_peak_bytes();
  // The kernel adds up resident pages lazily, each CPU on its own: equal is not exactly equal.
  if (peak > own_peak_bytes_ + own_peak_bytes_ / 16 + (256 << 10)) ended.rss_peak_bytes = peak;
  if (spawn.show == ShowOutput::none) drain(ended.errors);
  return ended;
}

}  // namespace genscope::bench
