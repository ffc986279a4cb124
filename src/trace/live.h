// The live file: the buffers of a recording process, in a shared mapping that outlives it.
//
//   0        LiveHeader, one page
//   4096     LaneSlot x kLaneSlots          who records, and what it had to drop
//   320 KiB  chunk x chunk_count            64 KiB each: ChunkHeader, words (internal/hot.h)
//
// It starts small: only the first slots have disk blocks, and the file ends behind the chunks that
// there are so far. It grows at its end; chunk_count says how far it is.
//
// The recorder maps it shared; a reader copies from the file, at any time. What is in a chunk and
// not in the trace file was recorded but not yet drained: after a crash, it is still here.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace genscope::trace {

struct LiveHeader {
  std::array<char, 8> magic = {'G', 'S', 'L', 'I', 'V', 'E', '0', '1'};
  std::uint32_t version = 1;
  std::uint32_t lane_slots = 0;
  std::uint32_t chunk_count = 0;
  std::uint32_t chunk_bytes = 0;
  std::uint64_t chunk_offset = 0;
  std::array<std::uint8_t, 16> trace_id{};
  std::uint32_t pid = 0;
  // How many of the first chunks and slots were ever in use, so that a reader need not look at the
  // others; 0: not known. Written by atomic_ref, before what they count.
  std::uint32_t chunks_touched = 0;
  std::uint32_t slots_touched = 0;
  // 1: the lock goes with the recorder's descriptor, not with its mapping (overlayfs), so it may be
  // free for a moment while the recorder lives.
  std::uint32_t lock_by_descriptor = 0;
  // What was dropped that no slot tells of. Written by atomic_ref, as is the next.
  std::uint64_t dropped_spans = 0;
  std::uint64_t dropped_records = 0;
  // Why recording ended before the program did; `stopped` is set when the text is whole.
  std::uint32_t stopped = 0;
  std::array<char, 256> reason{};
  // Where the trace is; empty: beside this file, under the same name.
  std::array<char, 2048> trace_path{};
};
static_assert(sizeof(LiveHeader) <= 4096);

// Drops that no chunk reports yet. `number` 0: free.
struct alignas(64) LaneSlot {
  std::atomic<std::uint32_t> number;
  std::uint32_t reserved;
  std::atomic<std::uint64_t> dropped_spans;
  std::atomic<std::uint64_t> dropped_records;
  std::atomic<std::uint64_t> lost_first_tick;
  std::atomic<std::uint64_t> lost_last_tick;
};
static_assert(sizeof(LaneSlot) == 64);

// A slot, and the head of a chunk (internal::ChunkHeader), as bytes that a reader copies out of the
// file while the recorder may write on.
struct SlotBytes {
  std::uint32_t number, reserved;
  std::uint64_t dropped_spans, dropped_records, lost_first_tick, lost_last_tick;
  std::uint64_t padding[3];
};
static_assert(sizeof(SlotBytes) == sizeof(LaneSlot));
struct ChunkBytes {
  static constexpr std::uint32_t kOpen = 1, kFilled = 2;  // of `state`: it has words
  std::uint64_t tail, data, base;
  std::uint32_t state, lane, seq, link, cycle, last;
  std::uint32_t reserved[4];
  bool in_use() const noexcept { return state == kOpen || state == kFilled; }
};
static_assert(sizeof(ChunkBytes) == 64);

inline constexpr std::uint32_t kLaneSlots = 4096;
inline constexpr std::size_t kSlotsOffset = 4096;
inline constexpr std::size_t kChunkOffset =
    (kSlotsOffset + kLaneSlots * sizeof(LaneSlot) + 0xFFFF) & ~std::size_t{0xFFFF};

}  // namespace genscope::trace
