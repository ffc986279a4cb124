// Where a reader gets its bytes: a file by pread (a mapped file that shrinks would kill the
// process) or memory, for tests and fuzzers. Offsets are checked against the size that the file had
// when it was opened; a file that shrinks meanwhile gives an error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "genscope/error.h"

namespace genscope::inspect {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` from `offset`, whole or not at all.
  virtual Status read(std::uint64_t offset, std::span<char> out) const = 0;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }
  bool holds(std::uint64_t offset, std::uint64_t count) const noexcept {
    return offset <= size_ && count <= size_ - offset;
  }

 protected:
  ByteSource(std::string path, std::uint64_t size) : path_(std::move(path)), size_(size) {}
  // The sentence for a read past the end.
  Error past_end(std::uint64_t offset, std::uint64_t count) const;

 private:
  std::string path_;
  std::uint64_t size_;
};

// Regular files only: a FIFO or device is refused without waiting for it, a folder too.
class FileSource final : public ByteSource {
 public:
  static Result<std::unique_ptr<FileSource>> open(const std::string& path);
  Status read(std::uint64_t offset, std::span<char> out) const override;

 private:
  FileSource(const std::string& path, base::UniqueFd fd, std::uint64_t size)
      : ByteSource(path, size), fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

// Does not own the bytes.
class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string path, std::string_view bytes)
      : ByteSource(std::move(path), bytes.size()), bytes_(bytes) {}
  Status read(std::uint64_t offset, std::span<char> out) const override;

 private:
  std::string_view bytes_;
};

constexpr std::string_view kFetchAgain = "the file is damaged or made to harm: fetch it again";

// "PATH: byte OFFSET: WHAT; REMEDY", code bad_data.
Error broken(const ByteSource& source, std::uint64_t offset, std::string_view what,
             std::string_view remedy = kFetchAgain);

// `name` in quotes for a message, cut if it is long.
std::string shown(std::string_view name);

}  // namespace genscope::inspect
