// In which order the sides of a cell run.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include <genscope/bench.h>

namespace genscope::bench {

// Blocks of sides. Within a block each side comes equally often, but for Order::blocks.
class Schedule {
 public:
  Schedule(Order order, std::size_t sides, std::uint64_t seed);
  // The sides of the next block, by number. abba: a random order and its reverse, so that a steady
  // drift hits all alike; latin: orders that rotate; random: any order. blocks: not for this.
  std::vector<std::size_t> next();

 private:
  Order order_;
  std::vector<std::size_t> sides_;
  std::size_t rounds_ = 0;
  std::mt19937_64 random_;
};

}  // namespace genscope::bench
