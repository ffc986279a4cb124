// clone(CLONE_VM | CLONE_VFORK): the child borrows our memory and we stand still until it has
// become the program, so that no page tables are copied, however large we are. That is what
// posix_spawn() does. But it asks in the child about every signal (121 system calls in all) and
// maps a stack each time, in the time that we measure.
//
// What makes it safe:
// 1. All signals are blocked from before the clone until exec() is near. A handler that ran in the
//    child would write to our memory. So the child sets every signal that has a handler to its
//    default before it unblocks them; which those are we ask in the parent. That takes 64 calls, 10
//    us, so they stand for the next 20 ms: a handler that is new since then can only run in the
//    child if a signal reaches it in the microseconds before exec(), and its pid is not known yet.
// 2. The child makes system calls and nothing else: no allocation, no lock, no errno of ours that
//    matters. It is not instrumented by sanitizers, which keep books of calls that never return.
// 3. Its stack is a block of ours. It calls two functions deep.
#include "bench/run/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/clock.h"
#include "base/file_reader.h"

#define GENSCOPE_UNINSTRUMENTED __attribute__((no_sanitize("address", "thread", "undefined")))

#if defined(__SANITIZE_THREAD__)
// tsan's own clone() takes the child for a forked process with books of its own, though it shares
// ours.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;
#define GENSCOPE_CLONE ::__clone
#else
#define GENSCOPE_CLONE ::clone
#endif

namespace genscope::bench {
namespace {

constexpr std::size_t kStackBytes = 32u << 10;
constexpr std::int64_t kSignalsStandNs = 20'000'000;
constexpr int kSignals = 64;
constexpr std::size_t kMaskBytes = 8;  // of the kernel's set of signals
using SignalMask = std::uint64_t;

// As the kernel has it, which is not as the C library has it.
struct KernelAction {
  void (*handler)(int) = nullptr;
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
  SignalMask mask = 0;
};

// Set to their default in the program, even if we ignore them: SIGINT and the like end it.
constexpr SignalMask bit(int signal) { return SignalMask{1} << (signal - 1); }
constexpr SignalMask kDefaults =
    bit(SIGINT) | bit(SIGQUIT) | bit(SIGTERM) | bit(SIGPIPE) | bit(SIGHUP);

SignalMask signals_to_reset() {
  SignalMask reset = kDefaults;
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction now;
    if (::syscall(SYS_rt_sigaction, signal, nullptr, &now, kMaskBytes) == 0 &&
        now.handler != SIG_DFL && now.handler != SIG_IGN) {
      reset |= bit(signal);
    }
  }
  return reset & ~(bit(SIGKILL) | bit(SIGSTOP));
}

struct Child {
  const char* path;
  char* const* argv;
  char* const* env;
  const char* cwd;  // null: ours
  int descriptors[3];
  SignalMask reset;
  volatile int error = 0;  // errno; the child's word to us
};

GENSCOPE_UNINSTRUMENTED int become(void* of) {
  Child& child = *static_cast<Child*>(of);
  const KernelAction plain;
  for (int signal = 1; signal <= kSignals; ++signal) {
    if ((child.reset >> (signal - 1) & 1) != 0) {
      ::syscall(SYS_rt_sigaction, signal, &plain, nullptr, kMaskBytes);
    }
  }
  bool fine = ::syscall(SYS_setpgid, 0, 0) == 0;
  for (int to = 0; to < 3 && fine; ++to) {
    const int from = child.descriptors[to];
    if (from < 0) continue;
    // Onto itself a descriptor stays one that closes at exec().
    fine =
        (from == to ? ::syscall(SYS_fcntl, to, F_SETFD, 0) : ::syscall(SYS_dup3, from, to, 0)) >= 0;
  }
  if (fine && child.cwd != nullptr) fine = ::syscall(SYS_chdir, child.cwd) == 0;
  if (fine) {
    const SignalMask none = 0;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kMaskBytes);
    ::syscall(SYS_execve, child.path, child.argv, child.env);
  }
  child.error = errno;
  ::syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

std::vector<char*> char_pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
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

Spawner::Spawner() : stack_(std::make_unique<std::byte[]>(kStackBytes)) {}

int Spawner::start(const Launch& launch, const Descriptors& descriptors, int& pid) {
  const std::string path = find_in_path(launch.path);
  if (path.find('/') == std::string::npos) return ENOENT;  // exec() would look for it here
  const std::int64_t now = base::monotonic_ns();
  if (reset_ == 0 || now - asked_ns_ > kSignalsStandNs) {
    reset_ = signals_to_reset();
    asked_ns_ = now;
  }
  const std::vector<char*> argv = char_pointers(launch.argv), env = char_pointers(launch.env);
  Child child{.path = path.c_str(),
              .argv = argv.data(),
              .env = env.data(),
              .cwd = launch.cwd.empty() ? nullptr : launch.cwd.c_str(),
              .descriptors = {descriptors.in, descriptors.out, descriptors.err},
              .reset = reset_};
  const SignalMask all = ~SignalMask{0};
  SignalMask before = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, kMaskBytes);
  pid =
      GENSCOPE_CLONE(become, stack_.get() + kStackBytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int failed = pid < 0 ? errno : child.error;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, kMaskBytes);
  if (pid > 0 && failed != 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  return failed;
}

}  // namespace genscope::bench
