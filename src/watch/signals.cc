// All signals that matter are blocked and read from a signalfd, so the watcher handles them between
// two polls like any other input. Those that a terminal sends reach the command by themselves, as
// it is in our group; only what was sent to us alone is passed on.
//
// How signals were when we started is read from the kernel: the C library hides two of them, and
// the command must find all as we found them.
#include "watch/signals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace genscope::watch {
namespace {

constexpr int kWatched[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,   SIGUSR1,
                            SIGUSR2, SIGCONT, SIGTSTP, SIGWINCH, SIGCHLD};

SignalState& state() {
  static SignalState state = [] {
    SignalState none;
    sigemptyset(&none.mask);
    return none;
  }();
  return state;
}

// As the kernel has it: the C library's sigaction hides the two signals that threads use, and a
// parent that came from posix_spawn has them ignored.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

bool is_ignored(int number) {
  KernelAction action{};
  return syscall(SYS_rt_sigaction, number, nullptr, &action, sizeof action.mask) == 0 &&
         action.handler == SIG_IGN;
}

}  // namespace

void remember_signals() {
  SignalState& start = state();
  sigprocmask(SIG_SETMASK, nullptr, &start.mask);
  for (int number = 1; number < NSIG; ++number) {
    start.ignored[static_cast<std::size_t>(number)] = is_ignored(number);
  }
}

const SignalState& signals_at_start() { return state(); }

void restore_signals() {
  const SignalState& start = state();
  for (int number = 1; number < NSIG; ++number) {
    KernelAction action{};
    action.handler = start.ignored[static_cast<std::size_t>(number)] ? SIG_IGN : SIG_DFL;
    syscall(SYS_rt_sigaction, number, &action, nullptr, sizeof action.mask);
  }
  sigprocmask(SIG_SETMASK, &start.mask, nullptr);
}

Reaction react(int signal_number, int code, bool ignored_at_start) {
  using Kind = Reaction::Kind;
  const bool to_us_alone = code <= 0;  // SI_USER, SI_QUEUE, SI_TKILL
  switch (signal_number) {
    case SIGCHLD:
      return {Kind::child};
    case SIGWINCH:
      return {Kind::resize, to_us_alone};
    case SIGCONT:
      return {Kind::resume, to_us_alone};
    case SIGTSTP:
      if (ignored_at_start) return {};
      return {Kind::stop, to_us_alone};
    default:
      if (ignored_at_start || !to_us_alone) return {};
      return {Kind::pass_on};
  }
}

SignalFd::SignalFd() {
  // A child of ours must stay a zombie until we have asked for its usage.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int number : kWatched) sigaddset(&watched, number);
  fd_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  // Writing from a background group must not stop us.
  sigaddset(&watched, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &watched, &before_);
}

SignalFd::~SignalFd() {
  while (next()) {
  }
  if (fd_ >= 0) ::close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<signalfd_siginfo> SignalFd::next() {
  signalfd_siginfo info{};
  ssize_t got = -1;
  do {
    got = ::read(fd_, &info, sizeof info);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return info;
}

}  // namespace genscope::watch
