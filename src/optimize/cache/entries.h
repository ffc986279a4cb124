// The entries of a cache by number. Each block of them is as large as all before it together, so an
// entry never moves, few entries take little memory, and many lie on huge pages.
#pragma once

#include <array>
#include <bit>
#include <limits>
#include <new>

#include "genscope/optimize/cache.h"
#include "optimize/cache/key_bytes.h"
#include "optimize/cache/kinds.h"
#include "optimize/cache/policy/huge_pages.h"
#include "optimize/cache/policy/policy.h"

namespace genscope::optimize::cache {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

enum class Timed : std::uint8_t {
  never,    // all times are kNever, and not written
  coarse,   // far apart: the clock that costs a few instructions will do
  precise,  // below 10 s
};

// What the policy has not been told yet about an entry's hits. The first few are told at once.
// Later ones only when the policy's order has moved on since the last, or when kMost wait: what is
// asked for all the time need not be told each time.
class Notes {
 public:
  // A hit at this age of the order. How many hits to tell of now; 0: none.
  std::uint32_t hit(std::uint8_t age) noexcept {
    const bool told = early_ == kEarly && age == age_ && waiting_ + 1 < kMost;
    if (told) {
      ++waiting_;
      return 0;
    }
    if (early_ < kEarly) ++early_;
    age_ = age;
    const std::uint32_t count = waiting_ + 1U;
    waiting_ = 0;
    return count;
  }

 private:
  static constexpr std::uint8_t kEarly = 3, kMost = 16;
  std::uint8_t early_ : 4 = 0, waiting_ : 4 = 0;
  std::uint8_t age_ = 0;
};

// All that a hit reads is in one cache line, unless times need looking at.
struct alignas(64) Entry {
  std::uint64_t low = 0, high = 0;
  KeyBytes key;
  Value value;
  std::uint64_t weight = 0;
  float cost_s = 0;
  KindId kind : 12 = 0;
  Timed timed : 2 = Timed::never;
  bool negative : 1 = false;
  Notes notes;
};
static_assert(sizeof(Entry) == 64);

struct Times {
  std::int64_t soft_ns = kNever;   // from here on somebody should make it anew
  std::int64_t fresh_ns = kNever;  // until here it may be served
  std::int64_t gone_ns = kNever;   // until here it may answer for a failed load
};

// Numbers from 0 on. Blocks are made by one thread at a time; whoever knows a number may read.
template <class T>
class Blocks {
 public:
  Blocks() = default;
  ~Blocks() {
    for (T* const block : blocks_) free_large(block);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  T& operator[](Node node) const noexcept {
    const unsigned block = block_of(node);
    return blocks_[block][node - first_of(block)];
  }
  // Memory for that node; nothing is constructed in it.
  void make_room(Node node) {
    const unsigned block = block_of(node);
    if (blocks_[block] != nullptr) return;
    const std::size_t count = block == 0 ? kFirst : first_of(block);
    blocks_[block] = static_cast<T*>(allocate_large(count * sizeof(T)));
  }
  static constexpr Node kMost = Node{1} << 30;

 private:
  static constexpr Node kFirst = 1024;
  // 0 for the first 1024, 1 for as many again, 2 for the next 2048, ...
  static unsigned block_of(Node node) noexcept {
    return static_cast<unsigned>(std::bit_width(node / kFirst * 2 + 1)) - 1;
  }
  static Node first_of(unsigned block) noexcept { return (kFirst << block >> 1) & ~(kFirst - 1); }

  std::array<T*, 21> blocks_{};
};

}  // namespace genscope::optimize::cache
