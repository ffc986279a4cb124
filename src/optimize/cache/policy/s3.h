// S3-FIFO with a small queue that adjusts itself.
//
// New keys enter a small queue. Those asked for in it go on to the main queue, the others leave and
// only their hashes are remembered for a while (ghosts); a remembered key goes to main at once.
// Main is a queue with second chances. To tune, ghosts of equal length are compared: if keys that
// the small queue dropped last come back twice as often as keys that main dropped last, the small
// queue grows by 1 % of the capacity, and the reverse. A touch is one counter.
#pragma once

#include "optimize/cache/policy/hash_index.h"
#include "optimize/cache/policy/node_lists.h"
#include "optimize/cache/policy/policy.h"

namespace genscope::optimize::cache {

// The hashes that were dropped last, by age.
class Ghosts {
 public:
  void add(std::uint64_t hash, std::size_t keep);
  // How many were added since this one; -1: not remembered. Forgets it.
  std::int64_t take(std::uint64_t hash) noexcept;

 private:
  std::vector<std::uint64_t> ring_;  // of a power of two; place = number & mask
  HashIndex numbers_;                // hash -> number of its last addition
  std::uint32_t begin_ = 0, end_ = 0;
};

class S3 final : public Policy {
 public:
  explicit S3(std::uint64_t capacity) : lists_(2), capacity_(capacity) {}

  void set_capacity(std::uint64_t weight) override { capacity_ = weight; }
  void insert(Node node, const Item& item, std::vector<Node>& evicted) override;
  std::size_t touch(const Touch* touches, std::size_t count) override;
  void remove(Node node) override;
  void shrink(std::vector<Node>& evicted) override;
  void order(std::vector<Node>& nodes) const override;
  Item item(Node node) const noexcept override { return lists_.item(node); }
  Soon soon() const noexcept override {
    const Next small = lists_.next(kSmall);
    return {small, lists_.behind(small), lists_.next(kMain)};
  }
  const char* name() const noexcept override { return "s3"; }

 private:
  static constexpr std::uint8_t kSmall = 0, kMain = 1;
  void evict_small(std::vector<Node>& evicted);
  void evict_main(std::vector<Node>& evicted);
  void tune(std::size_t entries) noexcept;

  NodeLists lists_;
  Ghosts small_ghosts_, main_ghosts_;
  std::uint64_t capacity_;
  double small_share_ = 0.1;
  std::uint64_t small_returns_ = 0, main_returns_ = 0;
};

}  // namespace genscope::optimize::cache
