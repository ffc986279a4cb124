#include "optimize/cache/policy/gdsf.h"

#include <algorithm>

namespace genscope::optimize::cache {
void Gdsf::insert(Node node, const Item& item, std::vector<Node>& evicted) {
  if (node >= cells_.size()) cells_.resize(node + node / 2 + 16);
  sketch_.reserve(heap_.size() * 2 + 64);
  sketch_.add(item.hash);
  Cell& cell = cells_[node];
  cell.hash = item.hash;
  cell.weight = std::max<std::uint64_t>(item.weight, 1);
  cell.asked = std::max(1U, sketch_.estimate(item.hash));
  cell.value =
      static_cast<float>(std::max(item.cost_s, kLeastCost) / static_cast<double>(cell.weight));
  cell.worth = clock_ + cell.asked * static_cast<double>(cell.value);
  weight_ += cell.weight;
  heap_.push_back(node);
  put(static_cast<std::uint32_t>(heap_.size() - 1), node);
  sift_up(cell.place);
  shrink(evicted);
}

std::size_t Gdsf::touch(const Touch* touches, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    const Node node = touches[at].node;
    const std::uint32_t times = touches[at].times;
    if (!holds(node)) continue;
    Cell& cell = cells_[node];
    sketch_.add(cell.hash, times);
    cell.asked += times;
    cell.worth = clock_ + cell.asked * static_cast<double>(cell.value);
    sift_down(cell.place);
  }
  return count;
}

void Gdsf::remove(Node node) {
  if (holds(node)) take_out(node);
}

void Gdsf::shrink(std::vector<Node>& evicted) {
  while (weight_ > capacity_ && !heap_.empty()) {
    const Node node = heap_.front();
    clock_ = std::max(clock_, cells_[node].worth);
    take_out(node);
    evicted.push_back(node);
  }
}

void Gdsf::order(std::vector<Node>& nodes) const {
  const auto first = static_cast<std::ptrdiff_t>(nodes.size());
  nodes.insert(nodes.end(), heap_.begin(), heap_.end());
  std::sort(nodes.begin() + first, nodes.end(), [this](Node a, Node b) { return less(a, b); });
}

void Gdsf::put(std::uint32_t place, Node node) noexcept {
  heap_[place] = node;
  cells_[node].place = place;
}

void Gdsf::sift_up(std::uint32_t place) noexcept {
  const Node node = heap_[place];
  while (place > 0 && less(node, heap_[(place - 1) / 4])) {
    put(place, heap_[(place - 1) / 4]);
    place = (place - 1) / 4;
  }
  put(place, node);
}

void Gdsf::sift_down(std::uint32_t place) noexcept {
  const Node node = heap_[place];
  const auto size = static_cast<std::uint32_t>(heap_.size());
  for (std::uint32_t child = 4 * place + 1; child < size; child = 4 * place + 1) {
    std::uint32_t least = child;
    for (std::uint32_t at = child + 1; at < std::min(child + 4, size); ++at) {
      if (less(heap_[at], heap_[least])) least = at;
    }
    if (!less(heap_[least], node)) break;
    put(place, heap_[least]);
    place = least;
  }
  put(place, node);
}

void Gdsf::take_out(Node node) noexcept {
  const std::uint32_t place = cells_[node].place;
  cells_[node].place = kOut;
  weight_ -= cells_[node].weight;
  const Node last = heap_.back();
  heap_.pop_back();
  if (last == node) return;
  put(place, last);
  sift_up(place);
  sift_down(cells_[last].place);
}

}  // namespace genscope::optimize::cache
