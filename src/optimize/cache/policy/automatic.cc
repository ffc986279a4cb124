#include "optimize/cache/policy/automatic.h"

#include <algorithm>
#include <bit>

#include "optimize/cache/policy/gdsf.h"
#include "optimize/cache/policy/s3.h"
#include "optimize/cache/policy/tiny_lfu.h"

namespace genscope::optimize::cache {
namespace {

constexpr std::uint32_t kLook = 128;       // inserts between two looks
constexpr std::uint32_t kForget = 4096;    // values after which the histogram is halved
constexpr double kDiffer = 2, kAlike = 1;  // octaves; apart, so that it does not swing

}  // namespace

void Spread::add(double value) noexcept {
  // The exponent and the first bit behind it: half octaves, without a logarithm.
  const auto bits =
      static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(std::max(value, 1e-18)) >> 51);
  ++buckets_[static_cast<std::size_t>(std::clamp<std::int64_t>(bits - 2 * 1023 + 128, 0, 255))];
  if (++count_ < kForget) return;
  count_ = 0;
  for (std::uint32_t& bucket : buckets_) count_ += bucket /= 2;
}

double Spread::octaves() const noexcept {
  if (count_ < kLook / 2) return 0;
  const auto place = [this](double share) {
    double left = share * count_;
    std::size_t at = 0;
    for (; at + 1 < buckets_.size() && left >= buckets_[at]; ++at) left -= buckets_[at];
    return static_cast<double>(at);
  };
  return (place(0.95) - place(0.05)) / 2;
}

Automatic::Automatic(std::uint64_t capacity)
    : policy_(std::make_unique<TinyLfu>(capacity, true)), capacity_(capacity) {}

void Automatic::set_capacity(std::uint64_t weight) {
  capacity_ = weight;
  policy_->set_capacity(weight);
}

void Automatic::insert(Node node, const Item& item, std::vector<Node>& evicted) {
  if (node >= costs_of_.size()) costs_of_.resize(node + node / 2 + 16);
  costs_of_[node] = static_cast<float>(item.cost_s);
  weights_.add(static_cast<double>(item.weight));
  if (item.cost_s > 0) costs_.add(std::max(item.cost_s, kLeastCost));
  policy_->insert(node, item, evicted);
  if (++inserts_ % kLook == 0) reconsider(evicted);
}

void Automatic::reconsider(std::vector<Node>& evicted) {
  const double octaves = std::max(weights_.octaves(), costs_.octaves());
  const bool differ = octaves > (differ_ ? kAlike : kDiffer);
  if (differ == differ_) return;
  differ_ = differ;
  std::vector<Node> nodes;
  policy_->order(nodes);
  const std::unique_ptr<Policy> before = std::move(policy_);
  if (differ) {
    policy_ = std::make_unique<Gdsf>(capacity_);
  } else {
    policy_ = std::make_unique<TinyLfu>(capacity_, true);
  }
  for (const Node node : nodes) {
    Item item = before->item(node);
    item.cost_s = static_cast<double>(costs_of_[node]);
    policy_->insert(node, item, evicted);
  }
}

std::unique_ptr<Policy> make_policy(PolicyKind kind, std::uint64_t capacity) {
  switch (kind) {
    case PolicyKind::automatic:
      return std::make_unique<Automatic>(capacity);
    case PolicyKind::adaptive:
      return std::make_unique<TinyLfu>(capacity, true);
    case PolicyKind::s3:
      return std::make_unique<S3>(capacity);
    case PolicyKind::gdsf:
      return std::make_unique<Gdsf>(capacity);
  }
  return nullptr;
}

}  // namespace genscope::optimize::cache
