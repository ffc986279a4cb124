// A guaranteed share of the capacity for some kinds.
//
// A kind with a floor has a part of its own, of the floor's size, and everything has the shared
// part. An entry enters the part of its kind; what does not fit there goes on to the shared part.
// What the shared part drops goes back to the part of its kind if there is room. So an entry is
// evicted only if its kind, without it, has more than the floor less the entry's weight: others
// never push a kind further down. The shared part has all that the own parts do not use just now,
// so a floor costs nothing while its kind is absent.
//
// Each part has a policy of the same sort. A touch goes to the one that has the node.
#pragma once

#include "optimize/cache/policy/policy.h"

namespace genscope::optimize::cache {

inline std::uint64_t floor_bytes(std::uint64_t capacity, double share) noexcept {
  return static_cast<std::uint64_t>(share * static_cast<double>(capacity));
}

class Floors final : public Policy {
 public:
  // `shares` of the capacity; part n has shares[n - 1]. Their sum is 1 at most.
  Floors(PolicyKind kind, std::uint64_t capacity, const std::vector<double>& shares);

  void set_capacity(std::uint64_t weight) override;
  void insert(Node node, const Item& item, std::vector<Node>& evicted) override;
  std::size_t touch(const Touch* touches, std::size_t count) override;
  void remove(Node node) override;
  void shrink(std::vector<Node>& evicted) override;
  void order(std::vector<Node>& nodes) const override;
  Item item(Node node) const noexcept override { return places_[node].item; }
  Soon soon() const noexcept override { return parts_[0].policy->soon(); }
  const char* name() const noexcept override { return parts_[0].policy->name(); }

 private:
  static constexpr std::uint32_t kOut = 0xFFFF'FFFF;
  struct Part {
    std::unique_ptr<Policy> policy;
    double share = 0;
    std::uint64_t floor = 0, weight = 0;
  };
  struct Place {
    std::uint32_t in = kOut;  // which part has it; 0: the shared one
    Item item;
  };

  bool holds(Node node) const noexcept { return node < places_.size() && places_[node].in != kOut; }
  bool has_room(std::uint32_t part, const Item& item) const noexcept {
    return part != 0 && parts_[part].weight + item.weight <= parts_[part].floor;
  }
  void enter(std::uint32_t part, Node node);
  void fit_shared();
  void settle(std::vector<Node>& evicted);

  std::vector<Part> parts_;  // the shared one first
  std::vector<Place> places_;
  std::vector<Node> dropped_, moving_;
  std::uint64_t capacity_;
};

}  // namespace genscope::optimize::cache
