#include "optimize/cache/policy/s3.h"

#include <algorithm>

namespace genscope::optimize::cache {

void Ghosts::add(std::uint64_t hash, std::size_t keep) {
  keep = std::max<std::size_t>(keep, 1);
  if (ring_.size() < keep) {
    const std::size_t size = std::bit_ceil(keep * 2);
    std::vector<std::uint64_t> ring(size);
    for (std::uint32_t at = begin_; at != end_; ++at) {
      ring[at & (size - 1)] = ring_[at & (ring_.size() - 1)];
    }
    ring_.swap(ring);
  }
  const std::uint32_t mask = static_cast<std::uint32_t>(ring_.size() - 1);
  numbers_.erase(hash);
  if (end_ == kNoNode) {  // the number that means none: start anew
    numbers_.clear();
    begin_ = end_ = 0;
  }
  numbers_.insert(hash, end_);
  ring_[end_ & mask] = hash;
  ++end_;
  while (end_ - begin_ > keep) {
    const std::uint64_t old = ring_[begin_ & mask];
    if (numbers_.find(old) == begin_) numbers_.erase(old);
    ++begin_;
  }
}

std::int64_t Ghosts::take(std::uint64_t hash) noexcept {
  const Node number = numbers_.find(hash);
  if (number == kNoNode) return -1;
  numbers_.erase(hash);
  return end_ - number - 1;
}

void S3::tune(std::size_t entries) noexcept {
  if (small_returns_ + main_returns_ < std::max<std::size_t>(32, entries / 100)) return;
  if (small_returns_ > 2 * main_returns_) small_share_ += 0.01;
  if (main_returns_ > 2 * small_returns_) small_share_ -= 0.01;
  small_share_ = std::clamp(small_share_, 0.01, 0.9);
  small_returns_ = main_returns_ = 0;
}

void S3::insert(Node node, const Item& item, std::vector<Node>& evicted) {
  const std::size_t entries = lists_.size();
  const auto young = static_cast<std::int64_t>(std::max<std::size_t>(entries / 10, 1));
  const std::int64_t from_small = small_ghosts_.take(item.hash);
  const std::int64_t from_main = main_ghosts_.take(item.hash);
  if (from_small >= 0 && from_small < young) ++small_returns_;
  if (from_main >= 0) ++main_returns_;
  tune(entries);
  const bool remembered = from_small >= 0 || from_main >= 0;
  lists_.add(node, item, remembered ? kMain : kSmall);
  shrink(evicted);
}

std::size_t S3::touch(const Touch* touches, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) lists_.prefetch(touches[at].node);
  for (std::size_t at = 0; at < count; ++at) {
    const Node node = touches[at].node;
    const std::uint32_t times = touches[at].times;
    if (!lists_.holds(node)) continue;
    std::uint8_t& hits = lists_.at(node).hits;
    hits = static_cast<std::uint8_t>(std::min(hits + times, 3U));
  }
  return count;
}

void S3::remove(Node node) {
  if (lists_.holds(node)) lists_.drop(node);
}

void S3::shrink(std::vector<Node>& evicted) {
  while (lists_.weight() > capacity_) {
    const auto small = static_cast<std::uint64_t>(small_share_ * static_cast<double>(capacity_));
    if (lists_.weight(kSmall) > small || lists_.oldest(kMain) == kNoNode) {
      evict_small(evicted);
    } else {
      evict_main(evicted);
    }
  }
}

void S3::evict_small(std::vector<Node>& evicted) {
  const Node node = lists_.oldest(kSmall);
  NodeLists::Cell& cell = lists_.at(node);
  if (cell.hits > 0) {
    cell.hits = 0;
    lists_.move(node, kMain);
    return;
  }
  small_ghosts_.add(cell.hash, lists_.size() * 9 / 10);
  lists_.drop(node);
  evicted.push_back(node);
}

void S3::evict_main(std::vector<Node>& evicted) {
  const Node node = lists_.oldest(kMain);
  NodeLists::Cell& cell = lists_.at(node);
  if (cell.hits > 0) {
    --cell.hits;
    lists_.move(node, kMain);
    return;
  }
  main_ghosts_.add(cell.hash, lists_.size() / 10);
  lists_.drop(node);
  evicted.push_back(node);
}

void S3::order(std::vector<Node>& nodes) const {
  for (const std::uint8_t list : {kSmall, kMain}) {
    for (Node at = lists_.oldest(list); at != kNoNode; at = lists_.at(at).newer)
      nodes.push_back(at);
  }
}

}  // namespace genscope::optimize::cache
