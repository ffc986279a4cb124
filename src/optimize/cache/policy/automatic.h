// Takes the policy that fits what comes: adaptive W-TinyLFU while entries are alike, GDSF when
// their weights or their costs differ by more than 4 times.
#pragma once

#include <array>

#include "optimize/cache/policy/policy.h"

namespace genscope::optimize::cache {

// How far values spread: a histogram of half octaves that forgets.
class Spread {
 public:
  void add(double value) noexcept;
  // The 95th percentile over the 5th, in powers of two; 0 while little is known.
  double octaves() const noexcept;

 private:
  std::array<std::uint32_t, 256> buckets_{};
  std::uint32_t count_ = 0;
};

class Automatic final : public Policy {
 public:
  explicit Automatic(std::uint64_t capacity);

  void expect(std::uint64_t hash) const noexcept override { policy_->expect(hash); }
  void set_capacity(std::uint64_t weight) override;
  void insert(Node node, const Item& item, std::vector<Node>& evicted) override;
  std::size_t touch(const Touch* touches, std::size_t count) override {
    return policy_->touch(touches, count);
  }
  void remove(Node node) override { policy_->remove(node); }
  void shrink(std::vector<Node>& evicted) override { policy_->shrink(evicted); }
  void order(std::vector<Node>& nodes) const override { policy_->order(nodes); }
  Item item(Node node) const noexcept override { return policy_->item(node); }
  Soon soon() const noexcept override { return policy_->soon(); }
  const char* name() const noexcept override { return policy_->name(); }

 private:
  void reconsider(std::vector<Node>& evicted);

  std::unique_ptr<Policy> policy_;
  std::vector<float> costs_of_;  // by node: what a policy that takes over must be told
  Spread weights_, costs_;
  std::uint64_t capacity_;
  std::uint32_t inserts_ = 0;
  bool differ_ = false;
};

}  // namespace genscope::optimize::cache
