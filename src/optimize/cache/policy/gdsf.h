// Greedy-Dual-Size-Frequency: worth = clock + asked * cost / weight, and the least worth goes.
//
// The clock is the worth of what went last. It rises, so what was worth much long ago is overtaken.
// A key that comes back starts with the count that a sketch remembers, not with one. For entries
// that differ in bytes or in what making them costs. A touch costs O(log n).
#pragma once

#include "optimize/cache/policy/policy.h"
#include "optimize/cache/policy/sketch.h"

namespace genscope::optimize::cache {

class Gdsf final : public Policy {
 public:
  explicit Gdsf(std::uint64_t capacity) : capacity_(capacity) {}

  void set_capacity(std::uint64_t weight) override { capacity_ = weight; }
  void insert(Node node, const Item& item, std::vector<Node>& evicted) override;
  std::size_t touch(const Touch* touches, std::size_t count) override;
  void remove(Node node) override;
  void shrink(std::vector<Node>& evicted) override;
  void order(std::vector<Node>& nodes) const override;
  Item item(Node node) const noexcept override {
    return {cells_[node].hash, cells_[node].weight, 0, 0};
  }
  Soon soon() const noexcept override {
    return {{}, {}, heap_.empty() ? Next{} : Next{heap_.front(), cells_[heap_.front()].hash}};
  }
  const char* name() const noexcept override { return "gdsf"; }

 private:
  static constexpr std::uint32_t kOut = 0xFFFF'FFFF;
  struct Cell {
    std::uint64_t hash = 0, weight = 0;
    double worth = 0;
    float value = 0;  // cost / weight
    std::uint32_t asked = 0;
    std::uint32_t place = kOut;  // in heap_
  };

  bool holds(Node node) const noexcept {
    return node < cells_.size() && cells_[node].place != kOut;
  }
  bool less(Node a, Node b) const noexcept { return cells_[a].worth < cells_[b].worth; }
  void put(std::uint32_t place, Node node) noexcept;
  void sift_up(std::uint32_t place) noexcept;
  void sift_down(std::uint32_t place) noexcept;
  void take_out(Node node) noexcept;

  std::vector<Cell> cells_;
  std::vector<Node> heap_;  // of 4 children, the least worth first
  Sketch sketch_;
  std::uint64_t capacity_, weight_ = 0;
  double clock_ = 0;
};

}  // namespace genscope::optimize::cache
