// Names and their numbers.
//
// One table per process, kept across sessions and into forked children, so that a static Site
// keeps its number for ever. The table's own copy of a name is what the trace file gets: nothing
// points into user memory.
//
// A name may be new in a signal handler that interrupted malloc, so none of this calls malloc:
// memory comes from the kernel in large blocks and stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "genscope/internal/word.h"

namespace genscope::record {

struct NameEntry {
  std::string_view text;  // in the table's own memory
  SpanKind kind = SpanKind::none;
  std::uint32_t id = 0;
  NameEntry* next = nullptr;  // in the order they were added
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

  // The entry for this name, made if new; null if `define` refused or there is no memory. `define`
  // is called under the table's lock, before anybody else can see the number.
  const NameEntry* intern(SpanKind kind, std::string_view name,
                          const std::function<bool(const NameEntry&)>& define);

  // Calls `visit` for every name. The lock is held: no name is added meanwhile.
  void for_each(const std::function<void(const NameEntry&)>& visit);

  std::mutex& mutex() noexcept { return mutex_; }

 private:
  NameTable() noexcept;
  // The names that have fixed numbers; false while there is no memory for them.
  bool add_known() noexcept;
  NameEntry* add(SpanKind kind, std::string_view name, std::uint32_t id) noexcept;
  // Where the name is, or the empty place where it belongs.
  NameEntry** place(SpanKind kind, std::string_view name) noexcept;
  bool grow() noexcept;

  std::mutex mutex_;
  Arena arena_;
  NameEntry** slots_ = nullptr;  // open addressing, at most half full
  std::size_t slot_count_ = 0;
  std::size_t used_ = 0;
  NameEntry* first_ = nullptr;
  NameEntry* last_ = nullptr;
  NameEntry* other_ = nullptr;  // "(other names)"
  std::size_t bytes_ = 0;
  std::uint32_t next_id_ = 1;
};

// A thread's memory of the names it used last: two candidate slots a name, so that one collision
// does not send every look-up to the table.
class NameCache {
 public:
  // From the kernel, for ever: a lane's slot keeps it for the threads that use it later.
  static NameCache* make() noexcept;

  // The number under which `name` was put, or 0.
  std::uint32_t find(SpanKind kind, std::string_view name) const noexcept {
    const std::uint64_t h = hash(kind, name);
    const Slot& a = slots_[(h >> 56) % kSlots];
    if (a.hash == h && same(a, kind, name)) [[likely]]
      return a.id;
    const Slot& b = slots_[(h >> 32) % kSlots];
    return b.hash == h && same(b, kind, name) ? b.id : 0;
  }
  void put(const NameEntry& entry) noexcept {
    const std::uint64_t h = hash(entry.kind, entry.text);
    Slot& a = slots_[(h >> 56) % kSlots];
    Slot& b = slots_[(h >> 32) % kSlots];
    Slot& slot = a.id == 0 ? a : b;
    slot = Slot{h, entry.text.data(), shape(entry.kind, entry.text), entry.id};
  }

 private:
  static constexpr std::size_t kSlots = 256;
  struct Slot {
    std::uint64_t hash = 0;
    const char* text = nullptr;  // in the table
    std::uint32_t shape = 0;
    std::uint32_t id = 0;
  };
  static std::uint32_t shape(SpanKind kind, std::string_view name) noexcept {
    return static_cast<std::uint32_t>(name.size()) << 8 | static_cast<std::uint32_t>(kind);
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
  static bool same(const Slot& slot, SpanKind kind, std::string_view name) noexcept {
    if (slot.shape != shape(kind, name)) return false;
    const char *p = slot.text, *q = name.data();
    const std::size_t n = name.size();
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
    std::uint64_t h = shape(kind, name);
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
    return h | 1;  // never 0, the hash of an empty slot
  }

  Slot slots_[kSlots];
};

}  // namespace genscope::record
