// Makes the live file, maps it and lets it grow (layout: trace/live.h).
//
// The whole range is mapped from the start; the file behind it begins small and is made longer by
// the drain thread as chunks are used. Whatever is handed out has its disk blocks, so that no store
// can ever fail for want of space. It never takes more than a share of what is free.
//
// No descriptor is needed to record: the mapping keeps the file, and its lock, as long as the
// process lives. (Where it does not keep the lock, as on overlayfs, hold_lock() does.)
//
// A mapping is never unmapped: a thread that was about to store a word when the session closed
// must not crash. retire() puts anonymous memory in its place, and a later session takes the
// address range over once no such thread can be left. make_live_buffer() and retire() are called
// under the lock of control.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/guest.h"
#include "genscope/error.h"
#include "trace/live.h"

namespace genscope::record {

struct LiveBuffer {
  std::string path;
  std::byte* base = nullptr;
  std::size_t bytes = 0;          // mapped
  std::uint32_t chunk_count = 0;  // that there are now
  std::uint32_t max_chunks = 0;   // that the mapping has room for
  std::uint32_t slot_count = 0;   // lane slots that have blocks
  base::GuestFile file;

  trace::LiveHeader* header() const { return reinterpret_cast<trace::LiveHeader*>(base); }
  trace::LaneSlot* slots() const {
    return reinterpret_cast<trace::LaneSlot*>(base + trace::kSlotsOffset);
  }
  std::byte* chunks() const { return base + trace::kChunkOffset; }

  // By the drain thread: 0, or an errno if there is no room for more.
  int grow_chunks(std::uint32_t count) noexcept;
  int grow_slots() noexcept;
  // By the drain thread, before the maker's descriptor is closed.
  int hold_lock() noexcept;
};

struct LiveSize {
  std::size_t max_bytes = 0;       // at least 8 chunks
  std::uint32_t first_chunks = 8;  // on a disk with little room fewer, but 4
  std::uint32_t first_slots = trace::kLaneSlots;
};
Result<LiveBuffer> make_live_buffer(const std::string& path, const LiveSize& size);

// Takes the memory away from the file; stray stores into the range stay harmless.
void retire(LiveBuffer& buffer) noexcept;
// In a forked child, which has no thread that could store: the range is the parent's file.
void leave_to_parent(LiveBuffer& buffer) noexcept;

// Written down in the file itself, where it survives whatever happens next.
void note_stop(LiveBuffer& buffer, std::string_view reason) noexcept;

}  // namespace genscope::record
