#include "optimize/cache/memory.h"

namespace genscope::optimize::cache {

void Table::resize(std::size_t size) {
  std::vector<Slot, LargeAllocator<Slot>> old(size);
  old.swap(slots_);
  hint_.store(slots_.data(), std::memory_order_relaxed);
  hint_mask_.store(mask(), std::memory_order_relaxed);
  for (const Slot slot : old) {
    if (slot.node == kNoNode) continue;
    std::size_t at = home(slot.tag);
    while (slots_[at].node != kNoNode) at = (at + 1) & mask();
    slots_[at] = slot;
  }
}

void Table::insert(std::uint64_t hash, Node node, const void* count) {
  if ((size_ + 1) * 4 > slots_.size() * 3) resize(slots_.size() * 2);
  const std::uint32_t tag = tag_of(hash);
  std::size_t at = home(tag);
  while (slots_[at].node != kNoNode) at = (at + 1) & mask();
  slots_[at] = {tag, node, count};
  ++size_;
}

// Where the node is, or a free slot.
std::size_t Table::place_of(std::uint64_t hash, Node node) const noexcept {
  std::size_t at = home(tag_of(hash));
  while (slots_[at].node != kNoNode && slots_[at].node != node) at = (at + 1) & mask();
  return at;
}

void Table::set_count(std::uint64_t hash, Node node, const void* count) noexcept {
  slots_[place_of(hash, node)].count = count;
}

void Table::erase(std::uint64_t hash, Node node) noexcept {
  std::size_t gap = place_of(hash, node);
  if (slots_[gap].node == kNoNode) return;
  --size_;
  // Whoever probed past the gap moves into it.
  for (std::size_t at = (gap + 1) & mask(); slots_[at].node != kNoNode; at = (at + 1) & mask()) {
    if (((at - home(slots_[at].tag)) & mask()) < ((at - gap) & mask())) continue;
    slots_[gap] = slots_[at];
    gap = at;
  }
  slots_[gap].node = kNoNode;
}

}  // namespace genscope::optimize::cache
