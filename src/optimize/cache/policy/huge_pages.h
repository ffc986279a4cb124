// Memory for large arrays that are read at random places. From 2 MiB on it asks for huge pages:
// with pages of 4 KiB nearly each lookup of a large cache would wait for the page table, too, and
// twice as long on a virtual machine. The kernel may refuse; nothing else changes then.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace genscope::optimize::cache {

inline constexpr std::size_t kHugePage = std::size_t{1} << 21;

inline void* allocate_large(std::size_t bytes) {
  const bool huge = bytes >= kHugePage;
  const std::size_t unit = huge ? kHugePage : 64;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const memory = std::aligned_alloc(unit, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) (void)::madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}
inline void free_large(void* memory) noexcept { std::free(memory); }

template <class T>
struct LargeAllocator {
  using value_type = T;
  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { free_large(memory); }
  bool operator==(const LargeAllocator&) const noexcept { return true; }
};

}  // namespace genscope::optimize::cache
