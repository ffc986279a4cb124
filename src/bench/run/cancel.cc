// A flag for those who look, and an eventfd for those who wait: poll() on it returns at once after
// cancel(). Both are safe in a signal handler.
#include "bench/run/cancel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include <genscope/bench.h>

namespace genscope::bench {
namespace {

constinit std::atomic<bool> g_cancelled{false};
constinit std::atomic<int> g_cancel_fd{-1};

}  // namespace

int cancel_fd() noexcept {
  int fd = g_cancel_fd.load();
  if (fd >= 0) return fd;
  const int made = ::eventfd(g_cancelled.load() ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return -1;
  if (g_cancel_fd.compare_exchange_strong(fd, made)) return made;
  ::close(made);
  return fd;
}

void cancel() noexcept {
  g_cancelled.store(true);
  const std::uint64_t one = 1;
  if (const int fd = g_cancel_fd.load(); fd >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof one);
  }
}

bool cancelled() noexcept { return g_cancelled.load(); }

void forget_cancel() noexcept {
  g_cancelled.store(false);
  std::uint64_t count = 0;
  if (const int fd = g_cancel_fd.load(); fd >= 0) {
    [[maybe_unused]] const ssize_t got = ::read(fd, &count, sizeof count);
  }
}

}  // namespace genscope::bench
