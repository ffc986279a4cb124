// How often a key was asked for lately, in 4 bits: a count-min sketch that forgets by halving.
//
// A key's four counters lie in one block of 64 bytes, so that asking costs one cache line. Counters
// stop at 15. After ten times as many additions as there are entries, all are halved: what was
// popular long ago does not count for ever. An estimate is never below the true count since, but by
// halving; it may be above, where keys share all four counters.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "optimize/cache/policy/huge_pages.h"

namespace genscope::optimize::cache {

class Sketch {
 public:
  explicit Sketch(std::uint64_t entries = 64) { reserve(entries); }

  // At least 32 counters an entry. Grows only, and keeps what it knows: a block that is split in
  // two is copied into both.
  void reserve(std::uint64_t entries) {
    set_entries(entries);
    if (entries > reserved_ || blocks_.empty()) grow(entries);
  }
  // The entries that it ages for; at most what was reserved.
  void set_entries(std::uint64_t entries) noexcept { sample_ = 10 * (entries > 16 ? entries : 16); }

  void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&blocks_[hash & (blocks_.size() - 1)], 1);
  }
  void add(std::uint64_t hash, std::uint32_t times = 1) noexcept {
    Block& block = blocks_[hash & (blocks_.size() - 1)];
    std::uint64_t bits = spread(hash);
    std::uint64_t rose = 0;
    for (unsigned row = 0; row < 4; ++row, bits >>= 8) {
      std::uint64_t& word = block.words[2 * row + (bits & 1)];
      const unsigned shift = static_cast<unsigned>(bits & 0x1E) * 2;
      const std::uint64_t room = 15 - ((word >> shift) & 15);
      const std::uint64_t more = room < times ? room : times;
      word += more << shift;
      rose |= more;
    }
    added_ += rose != 0 ? times : 0;
    if (added_ >= sample_) [[unlikely]]
      halve();
  }
  unsigned estimate(std::uint64_t hash) const noexcept {
    const Block& block = blocks_[hash & (blocks_.size() - 1)];
    std::uint64_t bits = spread(hash);
    unsigned least = 15;
    for (unsigned row = 0; row < 4; ++row, bits >>= 8) {
      const std::uint64_t word = block.words[2 * row + (bits & 1)];
      const unsigned shift = static_cast<unsigned>((bits >> 1) & 15) * 4;
      least = std::min(least, static_cast<unsigned>((word >> shift) & 15));
    }
    return least;
  }

 private:
  struct alignas(64) Block {
    std::array<std::uint64_t, 8> words{};
  };
  static std::uint64_t spread(std::uint64_t hash) noexcept {
    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93;
    hash ^= hash >> 29;
    return hash;
  }
  void grow(std::uint64_t entries);
  void halve() noexcept;

  std::vector<Block, LargeAllocator<Block>> blocks_;  // a power of two
  std::uint64_t reserved_ = 0;                        // entries that they are enough for
  std::uint64_t sample_ = 640, added_ = 0;
};

}  // namespace genscope::optimize::cache
