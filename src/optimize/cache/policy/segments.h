// A cache of three lists: what came last (window), what is on trial (probation), what was asked for
// again (protected). Over its capacity, the newest of those on trial and the oldest are compared by
// how often they were asked for, and the rarer one goes.
#pragma once

#include <algorithm>

#include "optimize/cache/policy/node_lists.h"

namespace genscope::optimize::cache {

class Segments {
 public:
  Segments() : lists_(3) {}

  void set_capacity(std::uint64_t weight) noexcept {
    capacity_ = weight;
    set_window(window_share_);
  }
  // The window's share of the capacity. Entries move with the next inserts, a few at a time.
  void set_window(double share) noexcept {
    window_share_ = share;
    window_ = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(share * static_cast<double>(capacity_)));
    window_ = std::min(window_, capacity_);
    protected_ = (capacity_ - window_) * 4 / 5;
  }
  void reserve(std::size_t nodes) { lists_.reserve(nodes); }
  double window_share() const noexcept { return window_share_; }
  const NodeLists& lists() const noexcept { return lists_; }
  bool holds(Node node) const noexcept { return lists_.holds(node); }
  std::uint64_t hash(Node node) const noexcept { return lists_.at(node).hash; }
  Soon soon() const noexcept {
    const Next window = lists_.next(kWindow);
    return {window, lists_.behind(window), lists_.next(kProbation)};
  }

  void touch(Node node) noexcept {
    if (lists_.at(node).list != kProbation) {
      lists_.renew(node);
      return;
    }
    lists_.move(node, kProtected);
    demote();
  }

  // `count(hash)` says how often a key was asked for; `evict(node)` is told what goes.
  template <class Count, class Evict>
  void insert(Node node, const Item& item, const Count& count, const Evict& evict) {
    lists_.add(node, item, kWindow);
    settle(count, evict);
  }
  template <class Count, class Evict>
  void settle(const Count& count, const Evict& evict) {
    // Room that the window gained is filled from the old end of the trial, so that a wider window
    // does not stand empty while the main part is over its share.
    demote();
    unsigned moves = kMovesAtOnce;
    while (lists_.weight(kWindow) > window_) {
      lists_.move(lists_.oldest(kWindow), kProbation);
      if (--moves == 0 && lists_.weight() <= capacity_) break;
    }
    Node candidate = lists_.newest(kProbation);
    while (lists_.weight() > capacity_) {
      const Node victim = oldest_of_main();
      if (victim == kNoNode) {
        drop(lists_.oldest(kWindow), evict);
        continue;
      }
      if (candidate == kNoNode || candidate == victim) {
        drop(victim, evict);
        candidate = lists_.newest(kProbation);
        continue;
      }
      if (count(lists_.at(candidate).hash) > count(lists_.at(victim).hash)) {
        drop(victim, evict);
      } else {
        const Node next = lists_.at(candidate).older;
        drop(candidate, evict);
        candidate = next;
      }
    }
    for (moves = kMovesAtOnce; moves > 0; --moves) {
      const Node node = lists_.oldest(kProbation);
      if (node == kNoNode || lists_.weight(kWindow) + lists_.at(node).weight > window_ ||
          lists_.weight() - lists_.weight(kWindow) <= capacity_ - window_) {
        break;
      }
      lists_.move(node, kWindow);
    }
  }
  void remove(Node node) noexcept { lists_.drop(node); }

  void order(std::vector<Node>& nodes) const {
    for (const std::uint8_t list : {kProbation, kWindow, kProtected}) {
      for (Node at = lists_.oldest(list); at != kNoNode; at = lists_.at(at).newer) {
        nodes.push_back(at);
      }
    }
  }

 private:
  static constexpr std::uint8_t kWindow = 0, kProbation = 1, kProtected = 2;
  static constexpr unsigned kMovesAtOnce = 64;

  void demote() noexcept {
    for (unsigned moves = kMovesAtOnce; lists_.weight(kProtected) > protected_ && moves > 0;
         --moves) {
      lists_.move(lists_.oldest(kProtected), kProbation);
    }
  }
  Node oldest_of_main() const noexcept {
    const Node node = lists_.oldest(kProbation);
    return node != kNoNode ? node : lists_.oldest(kProtected);
  }
  template <class Evict>
  void drop(Node node, const Evict& evict) {
    lists_.drop(node);
    evict(node);
  }

  NodeLists lists_;
  std::uint64_t capacity_ = 1, window_ = 1, protected_ = 0;
  double window_share_ = 0.01;
};

}  // namespace genscope::optimize::cache
