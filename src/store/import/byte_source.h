// The bytes of a file, decompressed if they are gzip; in blocks, so that the size does not matter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/file.h"
#include "genscope/error.h"

namespace genscope::store {

struct InflateLimits {
  std::uint64_t max_bytes = 0;  // that a compressed file may become
  std::uint64_t max_ratio = 0;  // out to in, once kFreeBytes have come out
  static constexpr std::uint64_t kFreeBytes = 64 << 20;
};

class ByteSource {
 public:
  static Result<ByteSource> open(const std::string& path, InflateLimits limits);
  ByteSource(ByteSource&&) noexcept;
  ~ByteSource();

  // Up to `size` bytes; 0 at the end. An Error if the file cannot be read or passes a limit.
  Result<std::size_t> read(char* out, std::size_t size);

  // Why the end came too early: compressed data that is cut off or damaged. Empty: it did not.
  const std::string& problem() const;
  std::uint64_t consumed() const;    // bytes of the file
  std::uint64_t file_bytes() const;  // 0 if unknown: a pipe

 private:
  struct Impl;
  explicit ByteSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace genscope::store
