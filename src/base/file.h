// Files: descriptors that close themselves, errors that name the path, whole reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "genscope/error.h"

namespace genscope::base {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }
  void reset(int fd = -1) noexcept;
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// "<what> <path>: <strerror>", with the code that fits errno.
Error errno_error(std::string_view what, const std::string& path, int error_number);

// The whole file. Refuses more than `limit` bytes.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{1} << 30);

// Replaces `path` in one step: a reader sees the old content or the new. A new file has the mode
// that the umask leaves, a replaced one keeps its own.
Status write_file(const std::string& path, std::string_view content);
// The same of content that is made piece by piece.
using WritePiece = std::function<void(std::string_view)>;
Status write_file(const std::string& path, const std::function<void(const WritePiece&)>& make);

// Creates `path` with `content` in one step; false if it exists already.
Result<bool> create_file(const std::string& path, std::string_view content);

// `size` bytes from `offset` on; false if there are fewer, or they cannot be read.
bool read_at(int fd, std::uint64_t offset, void* out, std::size_t size) noexcept;
// All bytes or an errno.
int write_all(int fd, const void* data, std::size_t size) noexcept;

Status make_directories(const std::string& path);

// `path` from the root on, without looking at the disk; as it is if the directory is not known.
std::string absolute_path(const std::string& path);

// Whether `path` lies on a file system that is shared over a network or served by a user process,
// where a shared mapping is slow or not coherent.
bool on_network_file_system(const std::string& path) noexcept;

// Asks the kernel for huge pages for a large block that is about to be filled: fewer page faults.
void advise_huge(void* data, std::size_t bytes) noexcept;

// A file mapped for reading. Empty files map to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) noexcept : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace genscope::base
