// Memory for coroutine frames and other short-lived blocks: free lists of each thread, exchanged in
// batches through a shared store, because many a frame is freed on another thread than made it.
#pragma once

#include <cstddef>

namespace genscope::optimize::internal {

void* take_block(std::size_t bytes);
void give_block(void* block, std::size_t bytes) noexcept;

// For a class whose objects come from there.
struct Recycled {
  static void* operator new(std::size_t bytes) { return take_block(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept { give_block(block, bytes); }
};

}  // namespace genscope::optimize::internal
