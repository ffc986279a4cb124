// When entries expire: a hierarchical timing wheel over nodes. The time is an argument.
//
// Three levels of 64 buckets: 1.07 s, 69 s and 73 min each. A node lies in the bucket of its time
// and moves to a finer level when the clock reaches it, so it is named within some 1.1 s of its
// time, never before it. Adding, taking out and naming cost O(1); advance() stops after as many
// nodes as it was allowed, and goes on where it stopped.
#pragma once

#include <vector>

#include "optimize/cache/policy/node_lists.h"

namespace genscope::optimize::cache {

class Wheel {
 public:
  Wheel() : lists_(kLevels * kBuckets) {}

  void schedule(Node node, std::int64_t when_ns, std::int64_t now_ns);
  void cancel(Node node) noexcept;
  // Appends the nodes whose time has come; they are out of the wheel.
  void advance(std::int64_t now_ns, std::size_t at_most, std::vector<Node>& expired);
  bool empty() const noexcept { return lists_.size() == 0; }

 private:
  static constexpr unsigned kLevels = 3, kBuckets = 64;
  static constexpr unsigned shift(unsigned level) noexcept { return 30 + 6 * level; }
  std::uint8_t bucket_of(std::int64_t when_ns) const noexcept;

  NodeLists lists_;  // a cell's hash is its time
  std::int64_t now_ns_ = 0;
};

}  // namespace genscope::optimize::cache
