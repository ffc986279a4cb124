// The entries of a cache and who may touch what.
//
//   shards (by hash)                 one for all
//   lock, table hash -> node         lock, policy, wheel, free nodes
//   lately touched nodes             what came and went, by kind
//
// Invariants:
//  1. A node's data is read and written under its shard's lock; nodes are made and freed under the
//     lock of the policy, which is taken first where both are. Tables change under both.
//  2. A lookup takes its shard's lock only. It notes the hit, if that is news (Notes in entries.h).
//     Notes go to the policy in batches, by whoever gets the policy's lock without waiting. Lost or
//     late notes cost hit ratio, nothing else.
//  3. Values are destroyed with no lock held.
//  4. The lock of the kinds comes last: under it nothing else is taken.
//  5. Every node in a table is known to the policy, and the reverse, whenever the policy's lock is
//     free.
//
// What a hit costs: one exchange for the lock, a slot of the table, then the entry's line and the
// value's count at once, and a sixteenth of a batch for the policy if it is news. The clock is read
// only for entries with a time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "genscope/optimize/cache.h"
#include "optimize/cache/entries.h"
#include "optimize/cache/kinds.h"
#include "optimize/cache/policy/policy.h"
#include "optimize/cache/short_lock.h"
#include "optimize/cache/wheel.h"

namespace genscope::optimize::cache {

// Hash -> node; open addressing with linear probing and 32 bits of the hash beside the node. A slot
// also says where the value's count is: entry and count then come from memory together, not one
// after the other.
class Table {
 public:
  Table() { resize(16); }

  // Without a lock: the address may be of a table that is gone, and fetching it does no harm.
  void prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(hint_.load(std::memory_order_relaxed) +
                       (tag_of(hash) & hint_mask_.load(std::memory_order_relaxed)));
  }
  template <class Same>
  Node find(std::uint64_t hash, const Same& same) const noexcept {
    const std::uint32_t tag = tag_of(hash);
    const Slot* const slots = slots_.data();
    const std::size_t last = mask();
    for (std::size_t at = tag & last;; at = (at + 1) & last) {
      const Slot slot = slots[at];
      if (slot.node == kNoNode) return kNoNode;
      if (slot.tag != tag) continue;
      __builtin_prefetch(slot.count, 1);
      if (same(slot.node)) return slot.node;
    }
  }
  void insert(std::uint64_t hash, Node node, const void* count);
  void set_count(std::uint64_t hash, Node node, const void* count) noexcept;
  void erase(std::uint64_t hash, Node node) noexcept;

 private:
  struct Slot {
    std::uint32_t tag = 0;
    Node node = kNoNode;
    const void* count = nullptr;  // only to fetch it
  };
  // The low bits choose the shard; the tag is of the others.
  static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t home(std::uint32_t tag) const noexcept { return tag & mask(); }
  std::size_t place_of(std::uint64_t hash, Node node) const noexcept;
  void resize(std::size_t size);

  std::vector<Slot, LargeAllocator<Slot>> slots_;
  std::atomic<const Slot*> hint_{nullptr};
  std::atomic<std::size_t> hint_mask_{0};
  std::size_t size_ = 0;
};

struct alignas(64) Shard {
  mutable ShortLock lock;
  std::uint32_t touched_count = 0;
  Table table;
  static constexpr std::uint32_t kTouched = 16;
  std::array<Touch, kTouched> touched{};
  std::vector<Asked> asked;  // by kind: of every kind that kind_in() gave for this shard
  KindIds kind_ids;
  std::uint64_t random = 0;  // for early refreshes

  std::uint32_t take_touched(std::array<Touch, kTouched>& batch) noexcept {
    const std::uint32_t count = touched_count;
    std::copy_n(touched.begin(), count, batch.begin());
    touched_count = 0;
    return count;
  }
};

// Values that go once the locks are free: mostly one or two, so mostly without an allocation.
class Dead {
 public:
  void push_back(Value value) {
    if (count_ < few_.size()) {
      few_[count_++] = std::move(value);
    } else {
      many_.push_back(std::move(value));
    }
  }

 private:
  std::array<Value, 4> few_;
  std::size_t count_ = 0;
  std::vector<Value> many_;
};

struct Found {
  Outcome outcome = Outcome::wait;  // hit, stale, negative; wait: nothing
  bool early = false;               // of a hit: whoever can should make it anew
  Value value;                      // of a negative entry: an Error
};

class Memory {
 public:
  explicit Memory(const CacheOptions& options);
  ~Memory();

  Found get(const Key& key, bool count = true);
  // What may answer for a failed load.
  Value last_resort(const Key& key);
  bool put(const Key& key, Value value, const PutOptions& options, bool negative = false);
  bool erase(const Key& key);
  void clear();
  void resize(std::uint64_t capacity);
  std::size_t size() const;
  CacheStats stats() const;
  void count_load(const Key& key, double seconds, bool failed);
  void count_coalesced(const Key& key, double saved_s);
  void count_early(const Key& key);
  std::int64_t now_ns() const;
  const CacheOptions& options() const noexcept { return options_; }

 private:
  static constexpr std::size_t kExpireAtOnce = 256;

  Shard& shard(std::uint64_t low) const noexcept { return shards_[low & shard_mask_]; }
  Entry& entry(Node node) const noexcept { return entries_[node]; }
  Node find(const Shard& shard, const Key& key) const noexcept;
  KindId kind_in(Shard& shard, const Key& key);
  KindId intern(std::string_view kind, std::uint64_t kind_hash);
  void check_times(Shard& shard, Node node, bool draw, Found& found) const;
  void pass_on(const Touch* touches, std::uint32_t count);
  void tell(const Touch* touches, std::uint32_t count);  // under the policy's lock
  double jittered(double seconds) noexcept;

  // Under the policy's lock. `dead` takes the values that are to be destroyed without it.
  Node new_node();
  void expire(std::int64_t now, Dead& dead);
  enum class Why : std::uint8_t { evicted, expired, erased };
  void forget(Node node, Why why, Dead& dead);
  void evict(Dead& dead);
  bool drop_old(const Key& key, Dead& dead);
  void take_value(Entry& entry, Dead& dead);
  void set_times(Node node, const PutOptions& options, bool negative);
  void fetch_next() noexcept;
  Kept& kept(KindId kind);

  CacheOptions options_;
  std::unique_ptr<Shard[]> shards_;
  std::uint64_t shard_mask_ = 0;
  std::atomic<std::uint32_t> touch_batch_{1};
  std::atomic<std::uint8_t> age_{
      0};  // rises whenever as many changes of the order came as a sixteenth of the entries
  Blocks<Entry> entries_;
  Blocks<Times> times_;

  mutable ShortLock policy_lock_;
  std::unique_ptr<Policy> policy_;
  Wheel wheel_;
  std::vector<Node> free_, evicted_;
  Node soon_other_ = kNoNode;  // of the last fetch_next()
  Node made_ = 0;
  std::size_t size_ = 0;
  std::size_t news_ = 0;  // since age_ rose
  std::uint64_t capacity_ = 0;
  std::uint64_t random_;
  std::vector<Kept> kept_;  // by kind
  mutable ShortLock kinds_lock_;
  std::vector<KindBook> books_;  // by kind; those with a floor come first
  std::shared_ptr<std::atomic<std::uint64_t>> pinned_bytes_;
};

}  // namespace genscope::optimize::cache
