// Doubly linked lists of nodes whose links lie in one array: no allocation per node, 32-bit links.
#pragma once

#include <cstdint>
#include <vector>

#include "optimize/cache/policy/huge_pages.h"
#include "optimize/cache/policy/policy.h"

namespace genscope::optimize::cache {

// Several lists over one set of nodes; a node is in one of them or in none.
class NodeLists {
 public:
  static constexpr std::uint8_t kNowhere = 0xFF;

  struct Cell {
    std::uint64_t hash = 0;
    std::uint64_t weight = 0;
    Node newer = kNoNode, older = kNoNode;
    std::uint32_t pushed = 0;  // when it came to the young end, in pushes
    std::uint8_t list = kNowhere;
    std::uint8_t hits = 0;  // what a policy wants to note
  };

  explicit NodeLists(unsigned lists) : ends_(lists) {}

  void reserve(std::size_t nodes) {
    if (cells_.size() < nodes) cells_.resize(nodes);
  }
  void prefetch(Node node) const noexcept {
    if (node < cells_.size()) __builtin_prefetch(&cells_[node], 1);
  }
  bool holds(Node node) const noexcept {
    return node < cells_.size() && cells_[node].list != kNowhere;
  }
  Cell& at(Node node) noexcept { return cells_[node]; }
  const Cell& at(Node node) const noexcept { return cells_[node]; }

  void add(Node node, const Item& item, std::uint8_t list) {
    if (node >= cells_.size()) cells_.resize(node + node / 2 + 16);
    cells_[node] = {item.hash, item.weight, kNoNode, kNoNode, 0, kNowhere, 0};
    push(node, list);
    ++size_;
  }
  void drop(Node node) noexcept {
    unlink(node);
    cells_[node].list = kNowhere;
    --size_;
  }
  // To the young end of a list, from wherever it is.
  void move(Node node, std::uint8_t list) noexcept {
    Cell& cell = cells_[node];
    if (cell.list == list && ends_[list].newest == node) return;
    unlink(node);
    push(node, list);
  }

  // The same within its list, unless it came to the young end lately: what is asked for all the
  // time need not move each time, for that would write to four nodes.
  void renew(Node node) noexcept {
    const Cell& cell = cells_[node];
    if (pushes_ - cell.pushed >= size_ / 8) move(node, cell.list);
  }

  Item item(Node node) const noexcept { return {cells_[node].hash, cells_[node].weight, 0, 0}; }
  // The one that leaves the list first.
  Next next(std::uint8_t list) const noexcept {
    const Node node = ends_[list].oldest;
    return node != kNoNode ? Next{node, cells_[node].hash} : Next{};
  }
  // The one that leaves after it.
  Next behind(const Next& next) const noexcept {
    if (next.node == kNoNode) return {};
    const Node node = cells_[next.node].newer;
    return node != kNoNode ? Next{node, cells_[node].hash} : Next{};
  }
  Node newest(std::uint8_t list) const noexcept { return ends_[list].newest; }
  Node oldest(std::uint8_t list) const noexcept { return ends_[list].oldest; }
  std::uint64_t weight(std::uint8_t list) const noexcept { return ends_[list].weight; }
  std::uint64_t weight() const noexcept { return weight_; }
  std::size_t size() const noexcept { return size_; }
  std::uint32_t pushes() const noexcept { return pushes_; }  // may overflow: for differences

 private:
  struct Ends {
    Node newest = kNoNode, oldest = kNoNode;
    std::uint64_t weight = 0;
  };

  void push(Node node, std::uint8_t list) noexcept {
    Cell& cell = cells_[node];
    Ends& ends = ends_[list];
    cell.list = list;
    cell.pushed = pushes_++;
    cell.newer = kNoNode;
    cell.older = ends.newest;
    if (ends.newest != kNoNode) {
      cells_[ends.newest].newer = node;
    } else {
      ends.oldest = node;
    }
    ends.newest = node;
    ends.weight += cell.weight;
    weight_ += cell.weight;
  }
  void unlink(Node node) noexcept {
    const Cell& cell = cells_[node];
    Ends& ends = ends_[cell.list];
    (cell.newer != kNoNode ? cells_[cell.newer].older : ends.newest) = cell.older;
    (cell.older != kNoNode ? cells_[cell.older].newer : ends.oldest) = cell.newer;
    ends.weight -= cell.weight;
    weight_ -= cell.weight;
  }

  std::vector<Cell, LargeAllocator<Cell>> cells_;
  std::vector<Ends> ends_;
  std::uint64_t weight_ = 0;
  std::size_t size_ = 0;
  std::uint32_t pushes_ = 0;
};

}  // namespace genscope::optimize::cache
