// Policies that the cache is compared with on streams nobody has published figures for: LRU, ARC,
// SIEVE, S3-FIFO and W-TinyLFU with a fixed and a climbing window. Written from their papers for
// entries of one size; keys are small numbers, so that an array stands for the table.
//
// The first line of bench_optimize_cache --only "yardstick" says how near they come to published
// figures.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace bench {

using Keys = std::vector<std::uint32_t>;

// Lists over keys; each key is in one of them or in none.
class KeyLists {
 public:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  static constexpr std::uint8_t kNowhere = 0xFF;
  explicit KeyLists(std::size_t keys) : cells_(keys) {}

  std::uint8_t list(std::uint32_t key) const { return cells_[key].list; }
  std::uint8_t& note(std::uint32_t key) { return cells_[key].note; }
  std::size_t size(std::uint8_t list) const { return ends_[list].size; }
  std::uint32_t oldest(std::uint8_t list) const { return ends_[list].oldest; }
  std::uint32_t newest(std::uint8_t list) const { return ends_[list].newest; }
  std::uint32_t newer(std::uint32_t key) const { return cells_[key].newer; }
  void push(std::uint32_t key, std::uint8_t list) {
    Cell& cell = cells_[key];
    Ends& ends = ends_[list];
    cell.list = list;
    cell.newer = kNone;
    cell.older = ends.newest;
    (ends.newest != kNone ? cells_[ends.newest].newer : ends.oldest) = key;
    ends.newest = key;
    ++ends.size;
  }
  void drop(std::uint32_t key) {
    Cell& cell = cells_[key];
    Ends& ends = ends_[cell.list];
    (cell.newer != kNone ? cells_[cell.newer].older : ends.newest) = cell.older;
    (cell.older != kNone ? cells_[cell.older].newer : ends.oldest) = cell.newer;
    cell.list = kNowhere;
    --ends.size;
  }
  void move(std::uint32_t key, std::uint8_t list) {
    drop(key);
    push(key, list);
  }
  std::uint32_t pop(std::uint8_t list) {
    const std::uint32_t key = oldest(list);
    drop(key);
    return key;
  }

 private:
  struct Cell {
    std::uint32_t newer = kNone, older = kNone;
    std::uint8_t list = kNowhere, note = 0;
  };
  struct Ends {
    std::uint32_t newest = kNone, oldest = kNone;
    std::size_t size = 0;
  };
  std::vector<Cell> cells_;
  std::array<Ends, 4> ends_;
};

class LruModel {
 public:
  LruModel(std::size_t capacity, std::size_t keys) : capacity_(capacity), lists_(keys) {}
  bool ask(std::uint32_t key) {
    if (lists_.list(key) == 0) {
      lists_.move(key, 0);
      return true;
    }
    if (lists_.size(0) == capacity_) lists_.pop(0);
    lists_.push(key, 0);
    return false;
  }

 private:
  std::size_t capacity_;
  KeyLists lists_;
};

// Megiddo and Modha, 2003.
class ArcModel {
 public:
  ArcModel(std::size_t capacity, std::size_t keys) : c_(capacity), lists_(keys) {}
  bool ask(std::uint32_t key) {
    const std::uint8_t in = lists_.list(key);
    if (in == kT1 || in == kT2) {
      lists_.move(key, kT2);
      return true;
    }
    const auto ghosts1 = static_cast<double>(lists_.size(kB1));
    const auto ghosts2 = static_cast<double>(lists_.size(kB2));
    if (in == kB1 || in == kB2) {
      p_ = in == kB1 ? std::min(static_cast<double>(c_), p_ + std::max(1.0, ghosts2 / ghosts1))
                     : std::max(0.0, p_ - std::max(1.0, ghosts1 / ghosts2));
      replace(in == kB2);
      lists_.move(key, kT2);
      return false;
    }
    const std::size_t first = lists_.size(kT1) + lists_.size(kB1);
    const std::size_t all = first + lists_.size(kT2) + lists_.size(kB2);
    if (first == c_) {
      if (lists_.size(kT1) < c_) {
        lists_.pop(kB1);
        replace(false);
      } else {
        lists_.pop(kT1);
      }
    } else if (all >= c_) {
      if (all == 2 * c_) lists_.pop(kB2);
      replace(false);
    }
    lists_.push(key, kT1);
    return false;
  }

 private:
  static constexpr std::uint8_t kT1 = 0, kT2 = 1, kB1 = 2, kB2 = 3;
  void replace(bool in_b2) {
    const auto t1 = static_cast<double>(lists_.size(kT1));
    if (t1 > 0 && (t1 > p_ || (in_b2 && t1 == p_) || lists_.size(kT2) == 0)) {
      lists_.move(lists_.oldest(kT1), kB1);
    } else {
      lists_.move(lists_.oldest(kT2), kB2);
    }
  }
  std::size_t c_;
  double p_ = 0;
  KeyLists lists_;
};

// Zhang and others, NSDI 2024.
class SieveModel {
 public:
  SieveModel(std::size_t capacity, std::size_t keys) : capacity_(capacity), lists_(keys) {}
  bool ask(std::uint32_t key) {
    if (lists_.list(key) == 0) {
      lists_.note(key) = 1;
      return true;
    }
    if (lists_.size(0) == capacity_) {
      if (hand_ == KeyLists::kNone) hand_ = lists_.oldest(0);
      while (lists_.note(hand_) != 0) {
        lists_.note(hand_) = 0;
        hand_ = lists_.newer(hand_);
        if (hand_ == KeyLists::kNone) hand_ = lists_.oldest(0);
      }
      const std::uint32_t next = lists_.newer(hand_);
      lists_.drop(hand_);
      hand_ = next;
    }
    lists_.push(key, 0);
    lists_.note(key) = 0;
    return false;
  }

 private:
  std::size_t capacity_;
  KeyLists lists_;
  std::uint32_t hand_ = KeyLists::kNone;
};

// Yang and others, SOSP 2023: a tenth for the small queue, promotion at two hits.
class S3FifoModel {
 public:
  S3FifoModel(std::size_t capacity, std::size_t keys)
      : capacity_(capacity), small_(std::max<std::size_t>(1, capacity / 10)), lists_(keys) {}
  bool ask(std::uint32_t key) {
    const std::uint8_t in = lists_.list(key);
    if (in == kSmall || in == kMain) {
      if (lists_.note(key) < 3) ++lists_.note(key);
      return true;
    }
    while (lists_.size(kSmall) + lists_.size(kMain) >= capacity_) evict();
    // It may have left the ghosts meanwhile.
    if (lists_.list(key) == kGhost) {
      lists_.move(key, kMain);
    } else {
      lists_.push(key, kSmall);
    }
    lists_.note(key) = 0;
    return false;
  }

 private:
  static constexpr std::uint8_t kSmall = 0, kMain = 1, kGhost = 2;
  void evict() {
    if (lists_.size(kSmall) >= small_ || lists_.size(kMain) == 0) {
      while (lists_.size(kSmall) > 0) {
        const std::uint32_t key = lists_.oldest(kSmall);
        if (lists_.note(key) >= 2) {
          lists_.note(key) = 0;
          lists_.move(key, kMain);
          continue;
        }
        lists_.move(key, kGhost);
        if (lists_.size(kGhost) > capacity_ - small_) lists_.pop(kGhost);
        return;
      }
    }
    while (lists_.note(lists_.oldest(kMain)) > 0) {
      const std::uint32_t key = lists_.oldest(kMain);
      --lists_.note(key);
      lists_.move(key, kMain);
    }
    lists_.pop(kMain);
  }
  std::size_t capacity_, small_;
  KeyLists lists_;
};

// Einziger and others, 2017; the climber is that of Caffeine: a step of 6.25 % of the capacity
// every ten times the capacity, in the same direction while the hit ratio rises, shrinking by 2 %.
class TinyLfuModel {
 public:
  TinyLfuModel(std::size_t capacity, std::size_t keys, bool climbs)
      : capacity_(capacity), climbs_(climbs), lists_(keys) {
    std::size_t words = 8;
    while (words < capacity) words *= 2;
    sketch_.resize(words);
    step_ = 0.0625 * static_cast<double>(capacity);
    set_window(0.01 * static_cast<double>(capacity));
  }
  bool ask(std::uint32_t key) {
    add(key);
    const std::uint8_t in = lists_.list(key);
    if (in == kProbation) {
      lists_.move(key, kProtected);
      demote();
    } else if (in != KeyLists::kNowhere) {
      lists_.move(key, in);
    } else {
      insert(key);
    }
    const bool hit = in != KeyLists::kNowhere;
    if (climbs_) climb(hit);
    return hit;
  }

 private:
  static constexpr std::uint8_t kWindow = 0, kProbation = 1, kProtected = 2;
  void insert(std::uint32_t key) {
    lists_.push(key, kWindow);
    while (lists_.size(kWindow) > window_) lists_.move(lists_.oldest(kWindow), kProbation);
    if (lists_.size(kWindow) + lists_.size(kProbation) + lists_.size(kProtected) <= capacity_)
      return;
    const std::uint32_t candidate = lists_.newest(kProbation), victim = lists_.oldest(kProbation);
    if (victim == KeyLists::kNone) {
      lists_.pop(lists_.size(kProtected) > 0 ? kProtected : kWindow);
    } else {
      lists_.drop(count(candidate) > count(victim) ? victim : candidate);
    }
  }
  void demote() {
    while (lists_.size(kProtected) > protected_) lists_.move(lists_.oldest(kProtected), kProbation);
  }
  void set_window(double entries) {
    const auto c = static_cast<double>(capacity_);
    entries = std::clamp(entries, std::max(1.0, 0.01 * c), std::max(1.0, 0.8 * c));
    wanted_ = entries;
    window_ = static_cast<std::size_t>(entries);
    protected_ = (capacity_ - window_) * 4 / 5;
    demote();
    // The main part gives what the window gains.
    while (lists_.size(kWindow) < window_ && lists_.size(kProbation) > 0 &&
           lists_.size(kProbation) + lists_.size(kProtected) > capacity_ - window_)
      lists_.move(lists_.oldest(kProbation), kWindow);
    while (lists_.size(kWindow) > window_) lists_.move(lists_.oldest(kWindow), kProbation);
  }
  void climb(bool hit) {
    hits_ += hit ? 1 : 0;
    if (++asked_ < 10 * capacity_) return;
    const double ratio = static_cast<double>(hits_) / static_cast<double>(asked_);
    const double change = ratio - last_ratio_;
    const double amount = change >= 0 ? step_ : -step_;
    step_ = std::abs(change) >= 0.05
                ? std::copysign(0.0625 * static_cast<double>(capacity_), amount)
                : 0.98 * amount;
    last_ratio_ = ratio;
    hits_ = asked_ = 0;
    set_window(wanted_ + amount);
  }

  static std::uint64_t mixed(std::uint64_t x) {
    x = (x + 0x9E3779B97F4A7C15) * 0xBF58476D1CE4E5B9;
    return x ^ (x >> 31);
  }
  template <class Do>
  void each_counter(std::uint32_t key, const Do& act) const {
    std::uint64_t hash = mixed(key);
    for (unsigned row = 0; row < 4; ++row) {
      hash = mixed(hash);
      act(static_cast<std::size_t>(hash >> 8) & (sketch_.size() - 1), ((hash & 3) + 4 * row) * 4);
    }
  }
  unsigned count(std::uint32_t key) const {
    unsigned least = 15;
    each_counter(key, [&](std::size_t word, std::uint64_t shift) {
      least = std::min(least, static_cast<unsigned>((sketch_[word] >> shift) & 15));
    });
    return least;
  }
  void add(std::uint32_t key) {
    bool rose = false;
    each_counter(key, [&](std::size_t word, std::uint64_t shift) {
      if (((sketch_[word] >> shift) & 15) == 15) return;
      sketch_[word] += std::uint64_t{1} << shift;
      rose = true;
    });
    if (!rose || ++added_ < 10 * capacity_) return;
    for (std::uint64_t& word : sketch_) word = (word >> 1) & 0x7777'7777'7777'7777;
    added_ /= 2;
  }

  std::size_t capacity_, window_ = 1, protected_ = 0;
  bool climbs_;
  KeyLists lists_;
  mutable std::vector<std::uint64_t> sketch_;
  std::size_t added_ = 0, hits_ = 0, asked_ = 0;
  double wanted_ = 1, step_ = 0, last_ratio_ = 0;
};

// Hits of the stream's last four fifths.
template <class Model>
double model_hit_ratio(Model model, const Keys& keys) {
  std::size_t hits = 0, asked = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool hit = model.ask(keys[i]);
    if (i < keys.size() / 5) continue;
    ++asked;
    hits += hit ? 1 : 0;
  }
  return static_cast<double>(hits) / static_cast<double>(asked);
}

}  // namespace bench
