// From hashes to nodes: open addressing with linear probing, which closes gaps when it erases.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "optimize/cache/policy/policy.h"

namespace genscope::optimize::cache {

class HashIndex {
 public:
  explicit HashIndex(std::size_t entries = 16) : slots_(std::bit_ceil(entries * 2)) {}

  Node find(std::uint64_t hash) const noexcept {
    for (std::size_t at = home(hash);; at = next(at)) {
      if (slots_[at].node == kNoNode || slots_[at].hash == hash) return slots_[at].node;
    }
  }
  // `hash` is not in it.
  void insert(std::uint64_t hash, Node node) {
    if (++size_ * 2 > slots_.size()) grow();
    place(hash, node);
  }
  void erase(std::uint64_t hash) noexcept {
    std::size_t gap = home(hash);
    while (slots_[gap].node != kNoNode && slots_[gap].hash != hash) gap = next(gap);
    if (slots_[gap].node == kNoNode) return;
    --size_;
    // Whoever probed past the gap moves into it.
    for (std::size_t at = next(gap); slots_[at].node != kNoNode; at = next(at)) {
      const std::size_t mask = slots_.size() - 1;
      if (((at - home(slots_[at].hash)) & mask) < ((at - gap) & mask)) continue;
      slots_[gap] = slots_[at];
      gap = at;
    }
    slots_[gap].node = kNoNode;
  }
  std::size_t size() const noexcept { return size_; }
  void clear() noexcept {
    for (Slot& slot : slots_) slot.node = kNoNode;
    size_ = 0;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    Node node = kNoNode;
  };
  std::size_t home(std::uint64_t hash) const noexcept {
    return (hash * 0x9E3779B97F4A7C15 >> 20) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (slots_.size() - 1); }
  void place(std::uint64_t hash, Node node) noexcept {
    std::size_t at = home(hash);
    while (slots_[at].node != kNoNode) at = next(at);
    slots_[at] = {hash, node};
  }
  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.node != kNoNode) place(slot.hash, slot.node);
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace genscope::optimize::cache
