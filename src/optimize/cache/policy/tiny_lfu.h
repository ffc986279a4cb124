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

  void expect(std::uint64_t hash) const noexcept override { sketch_.prefetch(hash); }
  void set_capacity(std::uint64_t weight) override;
  void insert(Node node, const Item& item, std::vector<Node>& evicted) override;
  std::size_t touch(const Touch* touches, std::size_t count) override;
  void remove(Node node) override;
  void shrink(std::vector<Node>& evicted) override;
  void order(std::vector<Node>& nodes) const override { cache_.order(nodes); }
  Item item(Node node) const noexcept override { return cache_.lists().item(node); }
  Soon soon() const noexcept override { return cache_.soon(); }
  const char* name() const noexcept override { return adaptive_ ? "adaptive" : "tiny_lfu"; }

  double window_share() const noexcept { return cache_.window_share(); }
  void set_window(double share) noexcept { cache_.set_window(share); }

 private:
  void asked(std::uint64_t hash, std::uint64_t weight, std::uint32_t times, bool hit) {
    sketch_.add(hash, times);
    if (adaptive_) ask_models(hash, weight, times, hit);
  }
  void ask_models(std::uint64_t hash, std::uint64_t weight, std::uint32_t times, bool hit) {
    if (duel_.samples(hash)) duel_.access({hash, weight, 0}, times, hit, sketch_);
    if (duel_.due(times)) [[unlikely]]
      take_window();
  }
  void take_window();
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
