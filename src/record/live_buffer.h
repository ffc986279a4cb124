// Makes the live file and maps it (layout: trace/live.h).
//
// A mapping is never unmapped: a thread that was about to store a word when the session closed
// must not crash. retire() puts anonymous memory in its place, and a later session takes the
// address range over once no such thread can be left. Both functions are called under the lock of
// control.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "genscope/error.h"
#include "trace/live.h"

namespace genscope::record {

struct LiveBuffer {
  std::string path;
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::uint32_t chunk_count = 0;
  int fd = -1;  // locked exclusively: a reader sees that we are alive

  trace::LiveHeader* header() const { return reinterpret_cast<trace::LiveHeader*>(base); }
  trace::LaneSlot* slots() const {
    return reinterpret_cast<trace::LaneSlot*>(base + trace::kSlotsOffset);
  }
  std::byte* chunks() const { return base + trace::kChunkOffset; }
};

// At least 8 chunks, with all disk blocks reserved, so that no store can ever fail for want of
// space. On a disk that is nearly full it is smaller than asked for.
Result<LiveBuffer> make_live_buffer(const std::string& path, std::size_t bytes);

// Takes the memory away from the file; stray stores into the range stay harmless.
void retire(LiveBuffer& buffer) noexcept;

}  // namespace genscope::record
