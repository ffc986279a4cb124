// Names and their numbers.
//
// One table per process, kept across sessions and into forked children, so that a static Site
// keeps its number for ever. The table's own copy of a name is what the trace file gets: nothing
// points into user memory.
//
// Looking up takes no lock and may happen in a signal handler. Open addressing, at most three
// quarters full; a slot is an entry's address with 16 bits of its hash above it, so that other
// names cost no look at their entry. Entries never change and never go. A table that is full is
// copied into one of twice the size and stays where it is, for those who are reading it: all old
// ones together are as large as the new one.
//
// A name may be new in a signal handler that interrupted malloc, so none of this calls malloc:
// memory comes from the kernel in large blocks and stays.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "genscope/internal/word.h"

namespace genscope::record {

// Kind and length of a name in one number.
inline std::uint32_t shape_of(SpanKind kind, std::string_view name) noexcept {
  return static_cast<std::uint32_t>(name.size()) << 8 | static_cast<std::uint32_t>(kind);
}

struct NameEntry {
  std::string_view text;  // in the table's own memory: right behind the entry
  NameEntry* next;        // in the order they were added
  std::uint32_t shape;
  std::uint32_t id;

  NameEntry(SpanKind kind, std::string_view name, std::uint32_t number) noexcept
      : text(name), next(nullptr), shape(shape_of(kind, name)), id(number) {}
  SpanKind kind() const noexcept { return static_cast<SpanKind>(shape & 0xFF); }
};

// Memory that is never given back, from the kernel. Null when there is none.
class Arena {
 public:
  void* take(std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t kBlockBytes = 256 << 10;
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
};

class NameTable {
 public:
  // Total bytes of names that a process may use; beyond, every new name is "(other names)".
  static constexpr std::size_t kMaxBytes = 16u << 20;

  // The process's table. Never destroyed.
  static NameTable& instance();

  // The entry for this name, or null: it is not there, or longer than names may be. On any thread.
  static const NameEntry* find(SpanKind kind, std::string_view name) noexcept {
    Slots* const slots = slots_.load(std::memory_order_acquire);
    if (slots == nullptr) [[unlikely]]
      return nullptr;
    const std::uint64_t h = hash(kind, name);
    for (std::uint64_t i = h;; ++i) {
      const std::uint64_t slot = slots->at(i).load(std::memory_order_acquire);
      if (slot == 0) return nullptr;
      if (((slot ^ h) >> kTagShift) != 0) continue;
      const NameEntry* const entry = entry_of(slot);
      if (same(*entry, kind, name)) [[likely]]
        return entry;
    }
  }

  // The entry for this name, made if new; null if `define` refused or there is no memory. `define`
  // is called under the table's lock, before anybody else can see the number.
  const NameEntry* intern(SpanKind kind, std::string_view name,
                          const std::function<bool(const NameEntry&)>& define);

  // Calls `visit` for every name. The lock is held: no name is added meanwhile.
  void for_each(const std::function<void(const NameEntry&)>& visit);

  std::mutex& mutex() noexcept { return mutex_; }

 private:
  static constexpr unsigned kTagShift = 48;
  struct Slots {             // the slots follow it; 0: free
    std::uint64_t mask = 0;  // their number less 1
    std::atomic<std::uint64_t>& at(std::uint64_t i) noexcept {
      return reinterpret_cast<std::atomic<std::uint64_t>*>(this + 1)[i & mask];
    }
  };

  NameTable() noexcept;
  // The names that have fixed numbers; false while there is no memory for them.
  bool add_known() noexcept;
  NameEntry* add(SpanKind kind, std::string_view name, std::uint32_t id) noexcept;
  bool grow() noexcept;
  static void put(Slots& slots, const NameEntry& entry) noexcept;
  static const NameEntry* entry_of(std::uint64_t slot) noexcept {
    return reinterpret_cast<const NameEntry*>(slot & ((std::uint64_t{1} << kTagShift) - 1));
  }

  static std::uint64_t load8(const char* p) noexcept {
    std::uint64_t v;
    __builtin_memcpy(&v, p, 8);
    return v;
  }
  // All of up to 7 characters in one number, by loads that overlap; a call of memcpy costs more.
  static std::uint64_t load_short(const char* p, std::size_t n) noexcept {
    if (n >= 4) {
      std::uint32_t a, b;
      __builtin_memcpy(&a, p, 4);
      __builtin_memcpy(&b, p + n - 4, 4);
      return std::uint64_t{b} << 32 | a;
    }
    if (n == 0) return 0;
    const auto at = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])}; };
    return at(0) | at(n / 2) << 8 | at(n - 1) << 16;
  }
  // By words, the last one overlapping: a call of memcmp costs as much as the rest.
  static bool same(const NameEntry& entry, SpanKind kind, std::string_view name) noexcept {
    if (entry.shape != shape_of(kind, name)) return false;
    const std::size_t n = name.size();
    const char* const p = reinterpret_cast<const char*>(&entry + 1);
    const char* const q = name.data();
    if (n < 8) return load_short(p, n) == load_short(q, n);
    for (std::size_t i = 0; i + 8 < n; i += 8) {
      if (load8(p + i) != load8(q + i)) return false;
    }
    return load8(p + n - 8) == load8(q + n - 8);
  }
  // Every 8 bytes times a number of their own: the products do not wait for one another.
  static std::uint64_t hash(SpanKind kind, std::string_view name) noexcept {
    constexpr std::uint64_t k = 0x9E3779B97F4A7C15;
    const char* p = name.data();
    std::size_t n = name.size();
    std::uint64_t h = shape_of(kind, name);
    std::uint64_t factor = k;
    for (; n >= 8; p += 8, n -= 8) {
      h += load8(p) * factor;
      factor += 2 * k;
    }
    if (n > 0) {
      std::uint64_t v = 0;
      if (name.size() >= 8) {
        v = load8(name.data() + name.size() - 8);
      } else {
        v = load_short(p, n);
      }
      h += v * factor;
    }
    h = (h ^ h >> 32) * k;
    return h ^ h >> 32;
  }

  // constinit: to look up costs no question whether it has been made.
  static constinit inline std::atomic<Slots*> slots_{nullptr};

  std::mutex mutex_;
  Arena arena_;
  std::size_t used_ = 0;
  NameEntry* first_ = nullptr;
  NameEntry* last_ = nullptr;
  NameEntry* other_ = nullptr;  // "(other names)"
  std::size_t bytes_ = 0;
  std::uint32_t next_id_ = 1;
};

}  // namespace genscope::record
