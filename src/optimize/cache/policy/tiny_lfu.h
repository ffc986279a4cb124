// W-TinyLFU: a window for what is new, a segmented main part for what lasts, and a sketch that says
// whom to admit. The adaptive form lets small models of the cache choose the window (duel.h).
#pragma once

#include "optimize/cache/policy/duel.h"
#include "optimize/cache/policy/policy.h"
#include "optimize/cache/policy/segments.h"
#include "optimize/cache/policy/sketch.h"

namespace genscope::optimize::cache {

class TinyLfu final : public Policy {
 public:
  TinyLfu(std::uint64_t capacity, bool adaptive);

  void set_capacity(std::uint64_t weight) override;
  void insert(Node node, const Item& item, std::vector<Node>& evicted) override;
  void touch(Node node) override;
  void touch_all(const Node* nodes, std::size_t count) override;
  void remove(Node node) override;
  void shrink(std::vector<Node>& evicted) override;
  void order(std::vector<Node>& nodes) const override { cache_.order(nodes); }
  Item item(Node node) const noexcept override { return cache_.lists().item(node); }
  std::array<Next, 2> next() const noexcept override { return cache_.next(); }
  const char* name() const noexcept override { return adaptive_ ? "adaptive" : "tiny_lfu"; }

  double window_share() const noexcept { return cache_.window_share(); }
  void set_window(double share) noexcept { cache_.set_window(share); }

 private:
  void asked(const Item& item);
  void fit_sizes(std::uint64_t weight);

  Segments cache_;
  Sketch sketch_;
  Duel duel_;
  bool adaptive_;
  std::uint64_t capacity_;
  std::uint64_t sized_for_ = 0;       // entries
  std::uint64_t sized_capacity_ = 0;  // when that was said
  double mean_weight_ = 0;
};

}  // namespace genscope::optimize::cache
