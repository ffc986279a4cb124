// The layout follows Caffeine's sketch: row r of a key uses word 2r or 2r+1 of its block, and one
// of that word's 16 counters. Each row takes its own bits of a remixed hash.
#include "optimize/cache/policy/sketch.h"

#include <algorithm>
#include <bit>

namespace genscope::optimize::cache {

void Sketch::grow(std::uint64_t entries) {
  // A block has 128 counters: enough for 4 entries.
  reserved_ = std::bit_ceil(std::max<std::uint64_t>(entries, 64));
  const std::uint64_t wanted = reserved_ / 4;
  if (blocks_.empty()) blocks_.resize(wanted);
  while (blocks_.size() < wanted) {
    const std::size_t half = blocks_.size();
    blocks_.resize(half * 2);
    std::copy_n(blocks_.begin(), half, blocks_.begin() + static_cast<std::ptrdiff_t>(half));
  }
}

void Sketch::halve() noexcept {
  for (Block& block : blocks_) {
    for (std::uint64_t& word : block.words) word = (word >> 1) & 0x7777'7777'7777'7777;
  }
  added_ /= 2;
}

}  // namespace genscope::optimize::cache
