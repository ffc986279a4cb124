#include "base/guest.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace genscope::base {
namespace {

constexpr unsigned kUnshare = 1U << 1;  // CLOSE_RANGE_UNSHARE

// The low numbers are the program's: some rely on which one they get next, others close them all.
int moved_up(int fd) noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const auto from = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1024) / 4 * 3);
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, from);
  if (high < 0) return fd;
  ::close(fd);
  return high;
}

// "MemAvailable:   123 kB", or no limit. Reads with the stack as its only memory.
std::uint64_t available_memory() noexcept {
  constexpr auto kUnknown = std::numeric_limits<std::uint64_t>::max();
  const int fd = ::open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return kUnknown;
  char text[1024];
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n <= 0) return kUnknown;
  text[n] = '\0';
  const char* const line = std::strstr(text, "MemAvailable:");
  if (line == nullptr) return kUnknown;
  return std::strtoull(line + std::strlen("MemAvailable:"), nullptr, 10) * 1024;
}

}  // namespace

FileId file_id(int fd) noexcept {
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) return {};
  return {info.st_dev, info.st_ino, true};
}

int GuestFd::get() noexcept {
  if (fd_ >= 0 && id_.known && file_id(fd_) == id_) return fd_;
  fd_ = -1;
  return -1;
}

void GuestFd::close() noexcept {
  if (const int fd = get(); fd >= 0) ::close(fd);
  fd_ = -1;
}

int GuestFile::use() noexcept {
  if (const int fd = fd_.get(); fd >= 0) return fd;
  if (path_.empty() || !id_.known) return -EBADF;
  const int opened = ::open(path_.c_str(), flags_ | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (opened < 0) return -errno;
  if (!(file_id(opened) == id_)) {
    ::close(opened);
    return -ESTALE;
  }
  fd_ = GuestFd(moved_up(opened));
  return fd_.get();
}

bool leave_descriptor_table() noexcept {
#if defined(SYS_close_range) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers write to the descriptors of whoever they find at fault.
  if (::syscall(SYS_close_range, 0U, ~0U, kUnshare) != 0) return false;
  for (int fd = 0; fd < 3; ++fd) {
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) < 0) break;
  }
  return true;
#else
  return false;
#endif
}

NoWriteSignals::NoWriteSignals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  sigpending(&pending_);
}

NoWriteSignals::~NoWriteSignals() {
  const int error = errno;
  const timespec at_once{0, 0};
  for (const int number : {SIGXFSZ, SIGPIPE}) {
    if (sigismember(&pending_, number) == 1) continue;  // not our doing
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    while (::sigtimedwait(&one, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

std::uint64_t free_bytes(int fd) noexcept {
  constexpr std::uint32_t kTmpfs = 0x01021994, kRamfs = 0x858458F6;
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return std::numeric_limits<std::uint64_t>::max();
  const auto type = static_cast<std::uint32_t>(info.f_type);
  const bool in_memory = type == kTmpfs || type == kRamfs;
  // A tmpfs without a limit, and file systems that do not count, say 0 of 0.
  const std::uint64_t free =
      info.f_blocks == 0 ? std::numeric_limits<std::uint64_t>::max()
                         : std::uint64_t{info.f_bavail} * static_cast<std::uint64_t>(info.f_bsize);
  return in_memory ? std::min(free, available_memory()) : free;
}

const char* error_text(int error_number) noexcept {
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
  const char* const text = ::strerrordesc_np(error_number);
  return text != nullptr ? text : "unknown error";
#else
  return std::strerror(error_number);
#endif
#else
  return std::strerror(error_number);
#endif
}

}  // namespace genscope::base
