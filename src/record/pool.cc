#include "record/pool.h"

#include <sys/mman.h>

#include <algorithm>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace genscope::record {

std::uint32_t ChunkPool::index_of(const ChunkHeader* chunk) const noexcept {
  const auto offset = reinterpret_cast<const std::byte*>(chunk) - chunks_;
  return static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / internal::kChunkBytes);
}

std::uint32_t ChunkPool::touched() const noexcept {
  return std::min(std::atomic_ref(*touched_).load(std::memory_order_relaxed), count());
}

ChunkHeader* ChunkPool::take_fresh() noexcept {
  const std::atomic_ref touched(*touched_);
  std::uint32_t i = touched.load(std::memory_order_relaxed);
  const std::uint32_t count = this->count();
  while (i < count) {
    if (touched.compare_exchange_weak(i, i + 1, std::memory_order_relaxed)) return at(i);
  }
  return nullptr;
}

ChunkHeader* ChunkPool::pop() noexcept {
  std::uint64_t head = free_.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(head) != 0) {
    ChunkHeader* const chunk = at(static_cast<std::uint32_t>(head) - 1);
    const std::uint64_t next =
        ((head >> 32) + 1) << 32 | chunk->link.load(std::memory_order_relaxed);
    if (free_.compare_exchange_weak(head, next, std::memory_order_acquire)) {
      free_count_.fetch_sub(1, std::memory_order_relaxed);
      return chunk;
    }
  }
  return take_fresh();
}

void ChunkPool::push(ChunkHeader* chunk) noexcept {
  chunk->state.store(static_cast<std::uint32_t>(ChunkState::free), std::memory_order_release);
  const std::uint32_t self = index_of(chunk) + 1;
  std::uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    chunk->link.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | self,
                                        std::memory_order_release, std::memory_order_relaxed));
  free_count_.fetch_add(1, std::memory_order_relaxed);
}

void ChunkPool::fill(ChunkHeader* chunk) noexcept {
  chunk->state.store(static_cast<std::uint32_t>(ChunkState::filled), std::memory_order_release);
  const std::uint32_t self = index_of(chunk) + 1;
  std::uint32_t head = filled_.load(std::memory_order_relaxed);
  do {
    chunk->link.store(head, std::memory_order_relaxed);
    // Sequentially consistent: whoever fills a chunk looks next whether the drain rests.
  } while (!filled_.compare_exchange_weak(head, self, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
}

ChunkHeader* ChunkPool::take_filled() noexcept {
  std::uint32_t head = filled_.exchange(0, std::memory_order_acquire);
  std::uint32_t reversed = 0;
  while (head != 0) {
    ChunkHeader* const chunk = at(head - 1);
    const std::uint32_t next = chunk->link.load(std::memory_order_relaxed);
    chunk->link.store(reversed, std::memory_order_relaxed);
    reversed = head;
    head = next;
  }
  return reversed != 0 ? at(reversed - 1) : nullptr;
}

ChunkHeader* ChunkPool::next(const ChunkHeader* chunk) const noexcept {
  const std::uint32_t link = chunk->link.load(std::memory_order_relaxed);
  return link != 0 ? at(link - 1) : nullptr;
}

void ChunkPool::prefault(std::uint32_t wanted) noexcept {
  while (free_count() < wanted) {
    ChunkHeader* const chunk = take_fresh();
    if (chunk == nullptr) return;
    if (::madvise(chunk, internal::kChunkBytes, MADV_POPULATE_WRITE) != 0) {
      // Before Linux 5.14: touch each page. The chunk is ours until it is pushed.
      auto* const bytes = reinterpret_cast<volatile char*>(chunk);
      for (std::size_t i = 0; i < internal::kChunkBytes; i += 4096) bytes[i] = bytes[i];
    }
    push(chunk);
  }
}

}  // namespace genscope::record
