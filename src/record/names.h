// Names and their numbers.
//
// One table per process, kept across sessions and into forked children, so that a static Site
// keeps its number for ever. The table's own copy of a name is what the trace file gets: nothing
// points into user memory.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "genscope/internal/word.h"

namespace genscope::record {

struct NameEntry {
  std::string text;
  SpanKind kind = SpanKind::none;
  std::uint32_t id = 0;
};

class NameTable {
 public:
  // Total bytes of names that a process may use; beyond, every new name is "(other names)".
  static constexpr std::size_t kMaxBytes = 16u << 20;

  // The process's table. Never destroyed.
  static NameTable& instance();

  // The entry for this name, made if new; null if `define` refused. `define` is called under the
  // table's lock, before anybody else can see the number.
  const NameEntry* intern(SpanKind kind, std::string_view name,
                          const std::function<bool(const NameEntry&)>& define);

  // Calls `visit` for every name. The lock is held: no name is added meanwhile.
  void for_each(const std::function<void(const NameEntry&)>& visit);

  std::mutex& mutex() noexcept { return mutex_; }

 private:
  NameTable();
  struct Key {
    std::string_view text;
    SpanKind kind;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return std::hash<std::string_view>()(key.text) * 31 + static_cast<std::size_t>(key.kind);
    }
  };

  std::mutex mutex_;
  std::deque<NameEntry> entries_;  // stable addresses
  std::unordered_map<Key, NameEntry*, KeyHash> index_;
  std::size_t bytes_ = 0;
  std::uint32_t next_id_ = 1;
};

// A thread's memory of the names it used last: two candidate slots a name, so that one collision
// does not send every look-up to the table.
class NameCache {
 public:
  // The number under which `name` was put, or 0.
  std::uint32_t find(SpanKind kind, std::string_view name) const noexcept {
    const std::uint64_t h = hash(kind, name);
    const Slot& a = slots_[h % kSlots];
    if (a.hash == h && same(a, name)) [[likely]]
      return a.id;
    const Slot& b = slots_[(h >> 32) % kSlots];
    return b.hash == h && same(b, name) ? b.id : 0;
  }
  void put(const NameEntry& entry) noexcept {
    const std::uint64_t h = hash(entry.kind, entry.text);
    Slot& a = slots_[h % kSlots];
    Slot& b = slots_[(h >> 32) % kSlots];
    (a.id == 0 ? a : b) = {h, entry.text.data(), static_cast<std::uint32_t>(entry.text.size()),
                           entry.id};
  }

 private:
  static constexpr std::size_t kSlots = 256;
  struct Slot {
    std::uint64_t hash = 0;
    const char* text = nullptr;  // in the table
    std::uint32_t size = 0;
    std::uint32_t id = 0;
  };
  static bool same(const Slot& slot, std::string_view name) noexcept {
    return slot.size == name.size() && __builtin_memcmp(slot.text, name.data(), name.size()) == 0;
  }
  static std::uint64_t hash(SpanKind kind, std::string_view name) noexcept {
    constexpr std::uint64_t k = 0x9E3779B97F4A7C15;
    std::uint64_t h = (name.size() + 1) * k ^ static_cast<std::uint64_t>(kind);
    const char* p = name.data();
    std::size_t n = name.size();
    for (; n >= 8; p += 8, n -= 8) {
      std::uint64_t v;
      __builtin_memcpy(&v, p, 8);
      h = (h ^ v) * k;
      h ^= h >> 32;
    }
    if (n > 0) {
      std::uint64_t v = 0;
      if (name.size() >= 8) {  // overlapping load of the last 8
        __builtin_memcpy(&v, name.data() + name.size() - 8, 8);
      } else {
        __builtin_memcpy(&v, p, n);
      }
      h = (h ^ v) * k;
      h ^= h >> 32;
    }
    return h | 1;  // never 0, the hash of an empty slot
  }

  Slot slots_[kSlots];
};

}  // namespace genscope::record
