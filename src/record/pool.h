// The chunks of the live file: a free list, a filled list, and those never touched.
//
// Any thread pops a free chunk and hands over a filled one; only the drain thread takes the
// filled ones and gives chunks back. Lock-free; neither side ever waits for the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "genscope/internal/hot.h"

namespace genscope::record {

using internal::ChunkHeader;
using internal::ChunkState;

class ChunkPool {
 public:
  // `touched`: a place of 4 bytes, 0 so far, that counts the chunks that were ever in use.
  void init(std::byte* chunks, std::uint32_t count, std::uint32_t& touched) noexcept {
    chunks_ = chunks;
    count_.store(count, std::memory_order_relaxed);
    touched_ = &touched;
  }
  // There are `count` now.
  void grow(std::uint32_t count) noexcept { count_.store(count, std::memory_order_release); }

  ChunkHeader* at(std::uint32_t index) const noexcept {
    return reinterpret_cast<ChunkHeader*>(chunks_ + std::size_t{index} * internal::kChunkBytes);
  }
  std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }
  // How many have ever been in use; the others were never touched.
  std::uint32_t touched() const noexcept;

  // A free chunk, most recently used first (its pages and cache lines are warm); else one that
  // was never touched, whose pages the caller then faults in; else null.
  ChunkHeader* pop() noexcept;
  // Gives a chunk back. Its words must be in the file.
  void push(ChunkHeader* chunk) noexcept;

  // Hands a chunk to the drain thread.
  void fill(ChunkHeader* chunk) noexcept;
  bool any_filled() const noexcept { return filled_.load(std::memory_order_seq_cst) != 0; }
  // All handed-over chunks, linked oldest first by next(); null if there are none.
  ChunkHeader* take_filled() noexcept;
  ChunkHeader* next(const ChunkHeader* chunk) const noexcept;
  // Makes `next` follow `chunk` in a list of the drain thread's own.
  void link(ChunkHeader* chunk, const ChunkHeader* next) noexcept {
    chunk->link.store(next != nullptr ? index_of(next) + 1 : 0, std::memory_order_relaxed);
  }

  // Touches pages of unused chunks and frees them until `wanted` are free and warm.
  void prefault(std::uint32_t wanted) noexcept;
  std::uint32_t free_count() const noexcept { return free_count_.load(std::memory_order_relaxed); }
  // Free ones and those that were never touched.
  std::uint32_t left() const noexcept { return free_count() + count() - touched(); }
  // Whether more should be made: before a fast thread can use up what is left.
  bool low() const noexcept {
    const std::uint32_t all = count();
    return left() < (all >= 16 ? all / 2 : 1);
  }

 private:
  std::uint32_t index_of(const ChunkHeader* chunk) const noexcept;
  ChunkHeader* take_fresh() noexcept;

  std::byte* chunks_ = nullptr;
  std::atomic<std::uint32_t> count_{0};
  // Heads hold index + 1, so that 0 is empty; the free list also a counter against ABA.
  alignas(64) std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint32_t> free_count_{0};
  alignas(64) std::atomic<std::uint32_t> filled_{0};
  std::uint32_t* touched_ = nullptr;
};

}  // namespace genscope::record
