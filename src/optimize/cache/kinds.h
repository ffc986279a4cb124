// Statistics by kind of key: counters that a shard keeps under its lock, and load times.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace genscope::optimize::cache {

using KindId = std::uint16_t;

// What a lookup counts.
struct Asked {
  std::uint64_t hits = 0, misses = 0, stale = 0, negative = 0;
  double cost_saved_s = 0;
};

// Times by eighths of an octave: a percentile is within 5 %.
class Durations {
 public:
  void add(double seconds) noexcept;
  double percentile(double share) const noexcept;  // NaN without one
  void add(const Durations& other) noexcept;

 private:
  std::array<std::uint32_t, 512> buckets_{};
  std::uint64_t count_ = 0;
};

// What the cache's own lock guards: what came and what went.
struct Kept {
  std::uint64_t inserted = 0, evicted = 0, expired = 0, rejected = 0, entries = 0, bytes = 0;
};

// A kind and its loads, under the lock of the kinds.
struct KindBook {
  std::string kind;
  std::uint64_t kind_hash = 0;
  std::uint64_t coalesced = 0, early = 0, loads = 0, load_failures = 0;
  double cost_saved_s = 0;  // by waiting for another's load
  Durations durations;
};

// The kinds that a shard has seen: few, so a list.
class KindIds {
 public:
  static constexpr KindId kUnknown = 0xFFFF;
  KindId find(std::uint64_t kind_hash) const noexcept {
    for (const auto& [hash, id] : known_) {
      if (hash == kind_hash) return id;
    }
    return kUnknown;
  }
  void add(std::uint64_t kind_hash, KindId id) { known_.emplace_back(kind_hash, id); }

 private:
  std::vector<std::pair<std::uint64_t, KindId>> known_;
};

}  // namespace genscope::optimize::cache
