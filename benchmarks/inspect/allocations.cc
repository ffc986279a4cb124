#include "allocations.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

// One thread reads; no atomics.
namespace {
std::size_t live = 0, peak = 0, base = 0;
}

void* operator new(std::size_t size) {
  void* const p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  live += malloc_usable_size(p);
  peak = std::max(peak, live);
  return p;
}

void operator delete(void* p) noexcept {
  if (p == nullptr) return;
  live -= malloc_usable_size(p);
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept { operator delete(p); }

namespace bench {

void reset_peak() noexcept { base = peak = live; }
std::size_t peak_bytes() noexcept { return peak - base; }

}  // namespace bench
