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

  // Its bytes are valid during the call; false: no more for now.
  using OnFrame = std::function<bool(const trace::FrameView&)>;
  // `on_frame` gets each new whole frame whose checksums are right. A frame that is still being
  // written waits for the next call, damage is skipped. `scratch` is memory for the bytes.
  void read(std::vector<std::byte>& scratch, const OnFrame& on_frame);

  // Reads on even if the file has not grown.
  void look_again() noexcept { seen_bytes_ = 0; }

  std::uint64_t bytes_read() const noexcept { return bytes_read_; }
  // Grows whenever bytes are read: frames between two changes were read at one time.
  std::uint64_t reads() const noexcept { return reads_; }

 private:
  bool start(int fd);
  struct Scanned {
    std::size_t bytes = 0;  // at the front that are done with
    bool stopped = false;   // by on_frame
  };
  Scanned frames(std::span<const std::byte> bytes, const OnFrame& on_frame) const;

  std::string path_;
  std::uint64_t offset_ = 0;      // everything before it is done
  std::uint64_t seen_bytes_ = 0;  // size of the file at the last look
  bool foreign_ = false;          // not a trace, or of a newer format
  std::uint64_t bytes_read_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace genscope::store
