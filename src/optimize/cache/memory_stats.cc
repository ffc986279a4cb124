#include <mutex>

#include "optimize/cache/memory.h"
#include "optimize/cache/policy/floors.h"

namespace genscope::optimize::cache {
namespace {

void add_up(KindStats& sum, const KindStats& one) {
  sum.hits += one.hits;
  sum.misses += one.misses;
  sum.coalesced += one.coalesced;
  sum.stale += one.stale;
  sum.negative += one.negative;
  sum.early += one.early;
  sum.loads += one.loads;
  sum.load_failures += one.load_failures;
  sum.inserted += one.inserted;
  sum.evicted += one.evicted;
  sum.expired += one.expired;
  sum.rejected += one.rejected;
  sum.entries += one.entries;
  sum.bytes += one.bytes;
  sum.floor_bytes += one.floor_bytes;
  sum.cost_saved_s += one.cost_saved_s;
}

void add_kept(KindStats& stats, const Kept& kept) {
  stats.inserted = kept.inserted;
  stats.evicted = kept.evicted;
  stats.expired = kept.expired;
  stats.rejected = kept.rejected;
  stats.entries = kept.entries;
  stats.bytes = kept.bytes;
}

KindStats stats_of(const KindBook& book) {
  KindStats stats;
  stats.kind = book.kind;
  stats.coalesced = book.coalesced;
  stats.early = book.early;
  stats.loads = book.loads;
  stats.load_failures = book.load_failures;
  stats.cost_saved_s = book.cost_saved_s;
  stats.load_p50_s = book.durations.percentile(0.5);
  stats.load_p99_s = book.durations.percentile(0.99);
  return stats;
}

}  // namespace

void Memory::count_load(const Key& key, double seconds, bool failed) {
  const KindId kind = intern(key.kind(), key.kind_hash());
  const std::lock_guard<ShortLock> hold(kinds_lock_);
  ++books_[kind].loads;
  if (failed) {
    ++books_[kind].load_failures;
  } else {
    books_[kind].durations.add(seconds);
  }
}

void Memory::count_coalesced(const Key& key, double saved_s) {
  const KindId kind = intern(key.kind(), key.kind_hash());
  const std::lock_guard<ShortLock> hold(kinds_lock_);
  ++books_[kind].coalesced;
  books_[kind].cost_saved_s += saved_s;
}

void Memory::count_early(const Key& key) {
  const KindId kind = intern(key.kind(), key.kind_hash());
  const std::lock_guard<ShortLock> hold(kinds_lock_);
  ++books_[kind].early;
}

CacheStats Memory::stats() const {
  CacheStats stats;
  Durations durations;
  {
    const std::lock_guard<ShortLock> hold(policy_lock_);
    stats.capacity_bytes = capacity_;
    stats.policy = policy_->name();
    const std::lock_guard<ShortLock> kinds(kinds_lock_);
    for (std::size_t kind = 0; kind < books_.size(); ++kind) {
      stats.kinds.push_back(stats_of(books_[kind]));
      if (kind < kept_.size()) add_kept(stats.kinds.back(), kept_[kind]);
      durations.add(books_[kind].durations);
    }
  }
  for (std::size_t kind = 0; kind < options_.floors.size(); ++kind) {
    stats.kinds[kind].floor_bytes = floor_bytes(stats.capacity_bytes, options_.floors[kind].share);
  }
  for (std::uint64_t at = 0; at <= shard_mask_; ++at) {
    const std::lock_guard<ShortLock> hold(shards_[at].lock);
    for (std::size_t kind = 0; kind < shards_[at].asked.size() && kind < stats.kinds.size();
         ++kind) {
      const Asked& asked = shards_[at].asked[kind];
      stats.kinds[kind].hits += asked.hits;
      stats.kinds[kind].misses += asked.misses;
      stats.kinds[kind].stale += asked.stale;
      stats.kinds[kind].negative += asked.negative;
      stats.kinds[kind].cost_saved_s += asked.cost_saved_s;
    }
  }
  for (const KindStats& kind : stats.kinds) add_up(stats.total, kind);
  stats.total.load_p50_s = durations.percentile(0.5);
  stats.total.load_p99_s = durations.percentile(0.99);
  stats.pinned_bytes = pinned_bytes_->load(std::memory_order_relaxed);
  return stats;
}

}  // namespace genscope::optimize::cache
