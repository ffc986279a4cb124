#include "counted_new.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

std::size_t bench::held_bytes = 0, bench::peak_bytes = 0;

void* operator new(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  bench::held_bytes += malloc_usable_size(block);
  bench::peak_bytes = std::max(bench::peak_bytes, bench::held_bytes);
  return block;
}

void operator delete(void* block) noexcept {
  if (block != nullptr) bench::held_bytes -= malloc_usable_size(block);
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
