// The frames that were added to a growing trace file since the last look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/frame.h"

namespace genscope::store {

class FrameTail {
 public:
  explicit FrameTail(std::string path) : path_(std::move(path)) {}

  // `on_frame` gets each new whole frame whose checksums are right; its bytes are valid during the
  // call. A frame that is still being written waits for the next call, damage is skipped.
  // `scratch` is memory for the bytes, kept by the caller.
  void read(std::vector<std::byte>& scratch,
            const std::function<void(const trace::FrameView&)>& on_frame);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  // Grows whenever bytes are read: frames between two changes were read at one time.
  std::uint64_t reads() const noexcept { return reads_; }

 private:
  bool start(int fd);
  std::size_t frames(std::span<const std::byte> bytes,
                     const std::function<void(const trace::FrameView&)>& on_frame) const;

  std::string path_;
  std::uint64_t offset_ = 0;      // everything before it is done
  std::uint64_t seen_bytes_ = 0;  // size of the file at the last look
  bool foreign_ = false;          // not a trace, or of a newer format
  std::uint64_t bytes_read_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace genscope::store
