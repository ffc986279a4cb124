#include "optimize/cache/wheel.h"

#include <algorithm>
#include <utility>

namespace genscope::optimize::cache {

std::uint8_t Wheel::bucket_of(std::int64_t when_ns) const noexcept {
  // The bucket of now has been looked at already: what is due goes into the next one.
  const std::int64_t when = std::max(when_ns, now_ns_);
  for (unsigned level = 0; level < kLevels; ++level) {
    const std::int64_t ahead = (when >> shift(level)) - (now_ns_ >> shift(level));
    if (ahead < kBuckets) {
      const std::int64_t tick = (now_ns_ >> shift(level)) + std::max<std::int64_t>(ahead, 1);
      return static_cast<std::uint8_t>(level * kBuckets + (tick & (kBuckets - 1)));
    }
  }
  const std::int64_t last = (now_ns_ >> shift(kLevels - 1)) + kBuckets - 1;
  return static_cast<std::uint8_t>((kLevels - 1) * kBuckets + (last & (kBuckets - 1)));
}

void Wheel::schedule(Node node, std::int64_t when_ns, std::int64_t now_ns) {
  if (lists_.holds(node)) lists_.drop(node);
  if (lists_.size() == 0) now_ns_ = now_ns;
  lists_.add(node, {static_cast<std::uint64_t>(when_ns), 1, 0}, bucket_of(when_ns));
}

void Wheel::cancel(Node node) noexcept {
  if (lists_.holds(node)) lists_.drop(node);
}

// Level by level: each bucket between the last visit and now is emptied; what is not due moves on.
void Wheel::advance(std::int64_t now_ns, std::size_t at_most, std::vector<Node>& expired) {
  if (empty() || now_ns <= now_ns_) return;
  const std::int64_t before = now_ns_;
  std::size_t moved = 0;
  for (unsigned level = 0; level < kLevels; ++level) {
    const std::int64_t first = (before >> shift(level)) + 1;
    const std::int64_t last = std::min(now_ns >> shift(level), first + kBuckets - 1);
    for (std::int64_t tick = first; tick <= last; ++tick) {
      const auto bucket = static_cast<std::uint8_t>(level * kBuckets + (tick & (kBuckets - 1)));
      const Node last_node = lists_.newest(bucket);  // what comes back into it is behind
      for (bool more = last_node != kNoNode; more;) {
        const Node node = lists_.oldest(bucket);
        more = node != last_node;
        // Stopped here, the buckets up to now are looked at again: nothing is lost.
        if (moved++ == at_most) return;
        const auto when = static_cast<std::int64_t>(lists_.at(node).hash);
        lists_.drop(node);
        if (when <= now_ns) {
          expired.push_back(node);
        } else {
          const std::int64_t kept = std::exchange(now_ns_, now_ns);
          const std::uint8_t to = bucket_of(when);
          now_ns_ = kept;
          lists_.add(node, {static_cast<std::uint64_t>(when), 1, 0}, to);
        }
      }
    }
  }
  now_ns_ = now_ns;
}

}  // namespace genscope::optimize::cache
