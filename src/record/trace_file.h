// The trace file being written: preamble, frames, the size limit, segments.
//
// Used by one thread at a time: by open() before the drain thread starts, then by that thread.
// Each use of its descriptor makes sure that it still is this file (base/guest.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/guest.h"
#include "genscope/error.h"
#include "genscope/record.h"
#include "trace/frame.h"

namespace genscope::record {

class TraceFile {
 public:
  struct Limits {
    std::uint64_t max_bytes = 0;  // 0: none
    WhenFull when_full = WhenFull::stop;
  };

  // `path` must not exist. Nothing is written before the first append.
  static Result<TraceFile> create(const std::string& path, Limits limits);

  // Collects a frame; write() sends what was collected. `elsewhere` is the rest of the payload,
  // not copied: it must stay where it is until write(). Throws std::bad_alloc; then nothing was
  // collected.
  void append(const trace::FrameHeader& header, std::span<const std::byte> payload,
              std::span<const std::byte> elsewhere = {});
  std::size_t pending() const noexcept { return pending_.size() + elsewhere_bytes_; }
  // 0 or an errno. After an error the file ends with its last whole write.
  int write() noexcept;

  // Whether the trace would pass its limit with what is pending and `more` bytes. A small part is
  // kept back for the records that close the trace.
  bool full(std::size_t more) const noexcept;
  // Whether it would take more than a quarter of the room on its disk: the rest is the program's.
  bool crowded(std::size_t more) noexcept;

  // Flight recorder: whether this segment is long enough for the next to start.
  bool segment_done() const noexcept;
  // Starts the next segment and deletes the oldest ones beyond the limit. The caller then appends
  // the process frame and the definitions again.
  Status next_segment();

  std::uint64_t bytes() const noexcept { return bytes_; }  // of all segments that exist
  std::uint32_t segment() const noexcept { return segment_; }
  const std::string& path() const noexcept { return path_; }
  // Somebody deleted the file or its folder.
  bool removed() noexcept;
  void close() noexcept { file_.close(); }
  // For the thread that goes on: opens the file for itself; 0 or an errno.
  int open_here() noexcept;
  base::GuestFd take_descriptor() noexcept { return file_.take(); }
  void forget_descriptor() noexcept { file_.forget(); }

 private:
  struct Segment {
    std::string path;
    std::uint64_t bytes = 0;
  };
  Status open_segment(const std::string& path);

  std::string path_;  // of segment 0
  Limits limits_;
  base::GuestFile file_;  // the open segment
  // What write() sends: pending_, with `bytes` put in behind its first `at` bytes.
  struct Elsewhere {
    std::size_t at;
    std::span<const std::byte> bytes;
  };
  int write_with_elsewhere(int fd) noexcept;
  std::vector<std::byte> pending_;
  std::vector<Elsewhere> elsewhere_;
  std::size_t elsewhere_bytes_ = 0;
  std::deque<Segment> segments_;  // the last one is open
  std::uint64_t bytes_ = 0;
  std::uint32_t segment_ = 0;
  std::uint64_t room_bytes_ = 0;  // that the trace may reach before the disk is asked again
};

}  // namespace genscope::record
