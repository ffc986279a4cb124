// Reading small files of /proc, /sys and cgroups again and again, without allocation.
//
// Files is the operating system, or in tests a plan of faults (testing/fault_plan.h): regular files
// cannot fail with EIO, be slow or change at the nth read.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/guest.h"

namespace genscope::base {

class Files {
 public:
  virtual ~Files() = default;
  // A descriptor, or -errno.
  virtual int open(const char* path) noexcept;
  // Bytes read from the start of the file, or -errno. `path` is for the plan of a test.
  virtual long read(int fd, const char* path, char* buffer, std::size_t size) noexcept;

  static Files& system() noexcept;
};

// One file that stays open between reads. After an error that means "this is another file now"
// (ENODEV, ESRCH, ENOENT, EBADF) it is closed, and the next read opens it again. So it is when the
// program that we are in has taken the descriptor for a file of its own.
class KeptFile {
 public:
  KeptFile() = default;
  explicit KeptFile(std::string path, Files& files = Files::system()) noexcept
      : path_(std::move(path)), files_(&files) {}

  // Fills `buffer` from the start of the file; `text` is what was read, without trailing NULs,
  // blanks and newlines. 0 or an errno (then `text` is empty). A file that is longer than the
  // buffer is cut.
  int read(std::span<char> buffer, std::string_view& text) noexcept;
  // The file's first number. EINVAL if it does not start with one. A sign is allowed.
  int read_number(double& value) noexcept;
  // The same for bytes: not trimmed.
  int read_bytes(std::span<char> buffer, std::size_t& size) noexcept;

  void close() noexcept { fd_.close(); }
  bool is_open() const noexcept { return fd_.valid(); }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  Files* files_ = nullptr;
  GuestFd fd_;
};

// Splits `text` at the first `separator`; `text` keeps what is behind it. For loops over lines and
// words: while (!text.empty()) { line = next_part(text, '\n'); ... }
std::string_view next_part(std::string_view& text, char separator) noexcept;
// The next word: blanks and tabs before it are skipped; empty at the end.
std::string_view next_word(std::string_view& text) noexcept;
// Whole `text` as a decimal number; false if it is not one, or too large.
bool parse_number(std::string_view text, std::uint64_t& value) noexcept;
bool parse_number(std::string_view text, std::int64_t& value) noexcept;
bool parse_number(std::string_view text, double& value) noexcept;

}  // namespace genscope::base
