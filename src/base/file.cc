#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace genscope::base {

void UniqueFd::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Error errno_error(std::string_view what, const std::string& path, int error_number) {
  ErrorCode code = ErrorCode::io;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      code = ErrorCode::not_found;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = ErrorCode::permission;
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = ErrorCode::no_space;
      break;
    default:
      break;
  }
  return {code, std::string(what) + " " + path + ": " + std::strerror(error_number)};
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // Never wait for the other end of a fifo.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("cannot open", path, errno);
  const auto too_large = [&](const std::string& size) {
    return Error{ErrorCode::bad_data, path + " has " + size + " bytes, and such a file may have " +
                                          std::to_string(limit) + " at most"};
  };
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<std::uintmax_t>(info.st_size) > limit) {
    return too_large(std::to_string(info.st_size));
  }
  std::string content;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error("cannot read", path, errno);
    if (n == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(n));
    if (content.size() > limit) return too_large("more than " + std::to_string(limit));
  }
}

bool read_at(int fd, std::uint64_t offset, void* out, std::size_t size) noexcept {
  auto* p = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t n = ::pread(fd, p, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n;
    offset += static_cast<std::uint64_t>(n);
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

int write_all(int fd, const void* data, std::size_t size) noexcept {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    p += n;
    size -= static_cast<std::size_t>(n);
  }
  return 0;
}

namespace {

// A new file beside `path`, so that rename and link stay within one file system. Its mode is what
// the umask leaves: mkstemp would give 0600, and nobody can ask for the umask without setting it.
Result<std::string> write_beside(const std::string& path,
                                 const std::function<void(const WritePiece&)>& make) {
  constexpr int kAttempts = 100;
  static std::atomic<std::uint32_t> number{0};
  std::string temporary;
  UniqueFd fd;
  for (int i = 0; i < kAttempts && !fd.valid(); ++i) {
    temporary = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
    fd.reset(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd.valid() && errno != EEXIST) break;
  }
  if (!fd.valid()) return errno_error("cannot create", path, errno);
  int error = 0;  // the first
  make([&](std::string_view piece) {
    if (error == 0) error = write_all(fd.get(), piece.data(), piece.size());
  });
  if (error != 0) {
    ::unlink(temporary.c_str());
    return errno_error("cannot write", path, error);
  }
  return temporary;
}

}  // namespace

Status write_file(const std::string& path, std::string_view content) {
  return write_file(path, [&](const WritePiece& write) { write(content); });
}

Status write_file(const std::string& path, const std::function<void(const WritePiece&)>& make) {
  Result<std::string> temporary = write_beside(path, make);
  if (!temporary) return temporary.error();
  struct stat before {};
  if (::stat(path.c_str(), &before) == 0) ::chmod(temporary->c_str(), before.st_mode & 0777);
  if (::rename(temporary->c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary->c_str());
    return errno_error("cannot write", path, error);
  }
  return Done{};
}

Result<bool> create_file(const std::string& path, std::string_view content) {
  Result<std::string> temporary =
      write_beside(path, [&](const WritePiece& write) { write(content); });
  if (!temporary) return temporary.error();
  const int failed = ::link(temporary->c_str(), path.c_str());
  const int error = errno;
  ::unlink(temporary->c_str());
  if (failed == 0) return true;
  if (error == EEXIST) return false;
  return errno_error("cannot create", path, error);
}

Status make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return errno_error("cannot create folder", path, error.value());
  return Done{};
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  std::string whole = std::filesystem::absolute(path, error).string();
  if (error) whole = path;
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return whole;
}

bool on_network_file_system(const std::string& path) noexcept {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  switch (static_cast<std::uint32_t>(info.f_type)) {
    case 0x6969:      // NFS
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x65735546:  // FUSE
    case 0x0BD00BD0:  // Lustre
    case 0x01021997:  // 9p
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00C36400:  // Ceph
    case 0x5346414F:  // AFS
      return true;
    default:
      return false;
  }
}

void advise_huge(void* data, std::size_t bytes) noexcept {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const auto from = (reinterpret_cast<std::uintptr_t>(data) + kHuge - 1) & ~(kHuge - 1);
  const auto to = (reinterpret_cast<std::uintptr_t>(data) + bytes) & ~(kHuge - 1);
  if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return errno_error("cannot open", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error("cannot stat", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorCode::invalid_argument, path + " is not a regular file"};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return MappedFile(nullptr, 0);
  void* const p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (p == MAP_FAILED) return errno_error("cannot map", path, errno);
  return MappedFile(static_cast<const std::byte*>(p), size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace genscope::base
