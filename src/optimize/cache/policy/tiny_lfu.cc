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

void TinyLfu::asked(const Item& item) {
  sketch_.add(item.hash);
  if (!adaptive_) return;
  if (duel_.samples(item.hash)) duel_.access(item, sketch_);
  double share = 0;
  if (duel_.decide(share)) cache_.set_window(share);
}

void TinyLfu::insert(Node node, const Item& item, std::vector<Node>& evicted) {
  fit_sizes(item.weight);
  const std::uint64_t entries = std::min<std::uint64_t>(sized_for_, cache_.lists().size() * 2);
  sketch_.reserve(std::max<std::uint64_t>(entries, 1));
  sketch_.set_entries(sized_for_);
  asked(item);
  cache_.insert(
      node, item, [this](std::uint64_t hash) { return sketch_.estimate(hash); },
      [&](Node gone) { evicted.push_back(gone); });
  for (const Next& next : cache_.next()) {  // what the next insert looks at
    if (next.node == kNoNode) continue;
    sketch_.prefetch(next.hash);
    const Node behind = cache_.lists().at(next.node).newer;
    if (behind != kNoNode) cache_.lists().prefetch(behind);
  }
}

void TinyLfu::touch(Node node) {
  if (!cache_.holds(node)) return;
  const NodeLists::Cell& cell = cache_.lists().at(node);
  asked({cell.hash, cell.weight, 0});
  cache_.touch(node);
}

void TinyLfu::touch_all(const Node* nodes, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) cache_.lists().prefetch(nodes[at]);
  for (std::size_t at = 0; at < count; ++at) {
    if (cache_.holds(nodes[at])) sketch_.prefetch(cache_.hash(nodes[at]));
  }
  for (std::size_t at = 0; at < count; ++at) TinyLfu::touch(nodes[at]);
}

void TinyLfu::remove(Node node) {
  if (cache_.holds(node)) cache_.remove(node);
}

void TinyLfu::shrink(std::vector<Node>& evicted) {
  cache_.settle([this](std::uint64_t hash) { return sketch_.estimate(hash); },
                [&](Node gone) { evicted.push_back(gone); });
}

}  // namespace genscope::optimize::cache
