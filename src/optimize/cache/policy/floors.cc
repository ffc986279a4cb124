#include "optimize/cache/policy/floors.h"

#include <utility>

namespace genscope::optimize::cache {

Floors::Floors(PolicyKind kind, std::uint64_t capacity, const std::vector<double>& shares)
    : capacity_(capacity) {
  parts_.push_back({make_policy(kind, capacity), 0, 0, 0});
  for (const double share : shares) {
    const std::uint64_t floor = floor_bytes(capacity, share);
    parts_.push_back({make_policy(kind, floor), share, floor, 0});
  }
}

void Floors::set_capacity(std::uint64_t weight) {
  capacity_ = weight;
  for (std::size_t at = 1; at < parts_.size(); ++at) {
    parts_[at].floor = floor_bytes(weight, parts_[at].share);
    parts_[at].policy->set_capacity(parts_[at].floor);
  }
  fit_shared();
}

void Floors::fit_shared() {
  std::uint64_t used = 0;
  for (std::size_t at = 1; at < parts_.size(); ++at) used += parts_[at].weight;
  parts_[0].policy->set_capacity(capacity_ > used ? capacity_ - used : 0);
}

// What the part drops for it is in dropped_, still with its place.
void Floors::enter(std::uint32_t part, Node node) {
  const Item& item = places_[node].item;
  places_[node].in = part;
  parts_[part].weight += item.weight;
  parts_[part].policy->insert(node, item, dropped_);
}

void Floors::insert(Node node, const Item& item, std::vector<Node>& evicted) {
  if (node >= places_.size()) places_.resize(node + node / 2 + 16);
  places_[node].item = item;
  enter(item.weight <= parts_[item.part].floor ? item.part : 0, node);
  settle(evicted);
}

// Dropped by its own part: on to the shared one. Dropped by the shared one: back to its own if
// there is room, else out. A node goes back only where nothing is dropped for it, and each round
// takes one out of the shared part, so this ends.
void Floors::settle(std::vector<Node>& evicted) {
  for (;;) {
    while (!dropped_.empty()) {
      moving_.swap(dropped_);
      for (const Node node : moving_) {
        Place& place = places_[node];
        const std::uint32_t from = std::exchange(place.in, kOut);
        parts_[from].weight -= place.item.weight;
        if (from != 0) {
          fit_shared();
          enter(0, node);
        } else if (has_room(place.item.part, place.item)) {
          enter(place.item.part, node);
        } else {
          evicted.push_back(node);
        }
      }
      moving_.clear();
    }
    fit_shared();
    parts_[0].policy->shrink(dropped_);
    if (dropped_.empty()) return;
  }
}

std::size_t Floors::touch(const Touch* touches, std::size_t count) {
  std::size_t moved = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const Node node = touches[at].node;
    if (holds(node)) moved += parts_[places_[node].in].policy->touch(&touches[at], 1);
  }
  return moved;
}

void Floors::remove(Node node) {
  if (!holds(node)) return;
  const std::uint32_t part = places_[node].in;
  parts_[part].weight -= places_[node].item.weight;
  parts_[part].policy->remove(node);
  places_[node].in = kOut;
  fit_shared();
}

void Floors::shrink(std::vector<Node>& evicted) {
  for (std::size_t at = 1; at < parts_.size(); ++at) parts_[at].policy->shrink(dropped_);
  settle(evicted);
}

void Floors::order(std::vector<Node>& nodes) const {
  for (const Part& part : parts_) part.policy->order(nodes);
}

}  // namespace genscope::optimize::cache
