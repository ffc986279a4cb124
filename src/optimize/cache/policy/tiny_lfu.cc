#include "optimize/cache/policy/tiny_lfu.h"

#include <algorithm>

namespace genscope::optimize::cache {

TinyLfu::TinyLfu(std::uint64_t capacity, bool adaptive) : adaptive_(adaptive), capacity_(capacity) {
  cache_.set_capacity(capacity);
}

void TinyLfu::set_capacity(std::uint64_t weight) {
  capacity_ = weight;
  cache_.set_capacity(weight);
  // The models start anew; beside floors the capacity moves a little all the time.
  if (weight > sized_capacity_ + sized_capacity_ / 8 ||
      weight < sized_capacity_ - sized_capacity_ / 8)
    sized_for_ = 0;
}

// How many entries fit is known only by their weights. Sketch and models follow when that doubles
// or halves.
void TinyLfu::fit_sizes(std::uint64_t weight) {
  const double w = static_cast<double>(std::max<std::uint64_t>(weight, 1));
  if (w == mean_weight_ && sized_for_ != 0) return;  // nothing moves
  mean_weight_ = mean_weight_ == 0 ? w : mean_weight_ + (w - mean_weight_) / 64;
  const auto entries = static_cast<std::uint64_t>(
      std::clamp(static_cast<double>(capacity_) / mean_weight_, 1.0, 1e9));
  if (entries <= sized_for_ * 2 && entries * 2 >= sized_for_) return;
  sized_for_ = entries;
  sized_capacity_ = capacity_;
  // The sketch follows what is really there: a huge capacity may never fill.
  sketch_.set_entries(entries);
  if (adaptive_) duel_.reset(capacity_, entries);
}

void TinyLfu::take_window() {
  if (duel_.decide()) cache_.set_window(duel_.window());
}

void TinyLfu::insert(Node node, const Item& item, std::vector<Node>& evicted) {
  fit_sizes(item.weight);
  const std::uint64_t entries = std::min<std::uint64_t>(sized_for_, cache_.lists().size() * 2);
  sketch_.reserve(std::max<std::uint64_t>(entries, 1));
  sketch_.set_entries(sized_for_);
  asked(item.hash, item.weight, 1, false);
  cache_.insert(
      node, item, [this](std::uint64_t hash) { return sketch_.estimate(hash); },
      [&](Node gone) { evicted.push_back(gone); });
  // What the next insert looks at.
  const Soon soon = cache_.soon();
  if (soon.second.node != kNoNode) {
    sketch_.prefetch(soon.second.hash);
    const Node third = cache_.lists().at(soon.second.node).newer;
    if (third != kNoNode) cache_.lists().prefetch(third);
  }
  if (soon.other.node != kNoNode) {
    sketch_.prefetch(soon.other.hash);
    const Node behind = cache_.lists().at(soon.other.node).newer;
    if (behind != kNoNode) cache_.lists().prefetch(behind);
  }
}

std::size_t TinyLfu::touch(const Touch* touches, std::size_t count) {
  const std::uint32_t before = cache_.lists().pushes();
  for (std::size_t at = 0; at < count; ++at) {
    cache_.lists().prefetch(touches[at].node);
    sketch_.prefetch(touches[at].hash);
  }
  for (std::size_t at = 0; at < count; ++at) {
    const auto [hash, node, times] = touches[at];
    if (!cache_.holds(node)) continue;
    asked(hash, cache_.lists().at(node).weight, times, true);
    cache_.touch(node);
  }
  return cache_.lists().pushes() - before;
}

void TinyLfu::remove(Node node) {
  if (cache_.holds(node)) cache_.remove(node);
}

void TinyLfu::shrink(std::vector<Node>& evicted) {
  cache_.settle([this](std::uint64_t hash) { return sketch_.estimate(hash); },
                [&](Node gone) { evicted.push_back(gone); });
}

}  // namespace genscope::optimize::cache
