#include "bench/run/schedule.h"

#include <algorithm>
#include <utility>

namespace genscope::bench {

std::string_view name(Order order) noexcept {
  switch (order) {
    case Order::abba:
      break;
    case Order::latin:
      return "latin";
    case Order::random:
      return "random";
    case Order::blocks:
      return "blocks";
  }
  return "abba";
}

Schedule::Schedule(Order order, std::size_t sides, std::uint64_t seed)
    : order_(order), sides_(sides), random_(seed) {
  for (std::size_t i = 0; i < sides; ++i) sides_[i] = i;
}

std::vector<std::size_t> Schedule::next() {
  std::vector<std::size_t> block = sides_;
  if (order_ == Order::latin) {
    std::rotate(block.begin(),
                block.begin() +
                    static_cast<std::ptrdiff_t>(rounds_++ % std::max<std::size_t>(1, block.size())),
                block.end());
    return block;
  }
  for (std::size_t i = block.size(); i > 1; --i) std::swap(block[i - 1], block[random_() % i]);
  if (order_ != Order::abba || block.size() < 2) return block;
  const std::vector<std::size_t> forth = block;
  block.insert(block.end(), forth.rbegin(), forth.rend());
  return block;
}

}  // namespace genscope::bench
