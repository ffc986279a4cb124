#include "monitor/memory/process_memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <string_view>

#include "base/file_reader.h"

namespace genscope::monitor {
namespace {

// How many forks lie between the first process that used a monitor and this one.
std::atomic<std::uint32_t> g_forks{0};

void count_forks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1); });
  static_cast<void>(registered);
}

}  // namespace

ProcessMemory::ProcessMemory() {
  count_forks();
  if (const long page = ::sysconf(_SC_PAGESIZE); page > 0) {
    page_bytes_ = static_cast<std::uint64_t>(page);
  }
  open();
}

ProcessMemory::~ProcessMemory() {
  if (const int fd = fd_.load(); fd >= 0) ::close(fd);
}

void ProcessMemory::open() noexcept {
  forks_.store(g_forks.load(std::memory_order_relaxed), std::memory_order_relaxed);
  const int old = fd_.exchange(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  if (old >= 0) ::close(old);
}

std::optional<std::uint64_t> ProcessMemory::resident_bytes() noexcept {
  // The child of a fork has one thread: nobody else reads while it opens its own file.
  if (forks_.load(std::memory_order_relaxed) != g_forks.load(std::memory_order_relaxed)) open();
  char buffer[128];
  const ssize_t size = ::pread(fd_.load(std::memory_order_relaxed), buffer, sizeof buffer, 0);
  if (size <= 0) return std::nullopt;
  std::string_view text(buffer, static_cast<std::size_t>(size));
  base::next_word(text);  // the size of the address space
  std::uint64_t pages = 0;
  if (!base::parse_number(base::next_word(text), pages)) return std::nullopt;
  return pages * page_bytes_;
}

}  // namespace genscope::monitor
