#include "optimize/cache/memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "optimize/cache/policy/floors.h"
#include "optimize/cache/value_block.h"

namespace genscope::optimize::cache {
namespace {

constexpr std::size_t kMostKinds = 1000;  // more share the last one
constexpr std::int64_t kPreciseBelow_ns = 10'000'000'000;

using Hold = std::lock_guard<ShortLock>;

unsigned shards_for(const CacheOptions& options) {
  if (options.shards != 0) return std::bit_floor(std::min(options.shards, 64U));
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t most = std::min(64U, std::bit_ceil(4 * cores));
  const std::uint64_t by_size =
      std::bit_floor(std::max<std::uint64_t>(options.capacity_bytes / 256, 1));
  return static_cast<unsigned>(std::min(most, by_size));
}

PolicyKind kind_of(CachePolicy policy) noexcept {
  switch (policy) {
    case CachePolicy::automatic:
      break;
    case CachePolicy::adaptive:
      return PolicyKind::adaptive;
    case CachePolicy::s3:
      return PolicyKind::s3;
    case CachePolicy::gdsf:
      return PolicyKind::gdsf;
  }
  return PolicyKind::automatic;
}

std::int64_t time_after(std::int64_t now, double seconds) noexcept {
  return seconds < 9e9 ? now + static_cast<std::int64_t>(seconds * 1e9) : kNever;
}

}  // namespace

Memory::Memory(const CacheOptions& options)
    : options_(options),
      capacity_(options.capacity_bytes),
      random_(options.seed),
      pinned_bytes_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
  if (options.floors.empty()) {
    policy_ = make_policy(kind_of(options.policy), capacity_);
  } else {
    std::vector<double> shares;
    for (const KindFloor& floor : options.floors) {
      intern(floor.kind, KeyBuilder(floor.kind).build().kind_hash());
      shares.push_back(floor.share);
    }
    policy_ = std::make_unique<Floors>(kind_of(options.policy), capacity_, shares);
  }
  const unsigned shards = shards_for(options);
  shards_ = std::make_unique<Shard[]>(shards);
  shard_mask_ = shards - 1;
  for (unsigned at = 0; at < shards; ++at) {
    shards_[at].asked.resize(16);
    shards_[at].random = options.seed + at;
  }
}

Memory::~Memory() {
  for (Node node = 0; node < made_; ++node) entry(node).~Entry();
}

std::int64_t Memory::now_ns() const {
  return options_.now_ns ? options_.now_ns() : base::monotonic_ns();
}

Node Memory::find(const Shard& shard, const Key& key) const noexcept {
  return shard.table.find(key.low(), [&](Node node) {
    const Entry& e = entry(node);
    return e.low == key.low() && e.key == key.bytes();
  });
}

KindId Memory::intern(std::string_view kind, std::uint64_t kind_hash) {
  const Hold hold(kinds_lock_);
  for (std::size_t at = 0; at < books_.size(); ++at) {
    if (books_[at].kind_hash == kind_hash) return static_cast<KindId>(at);
  }
  if (books_.size() == kMostKinds) return static_cast<KindId>(kMostKinds - 1);
  books_.emplace_back();
  books_.back().kind = books_.size() == kMostKinds ? std::string("(other)") : std::string(kind);
  books_.back().kind_hash = kind_hash;
  return static_cast<KindId>(books_.size() - 1);
}

KindId Memory::kind_in(Shard& shard, const Key& key) {
  KindId kind = shard.kind_ids.find(key.kind_hash());
  if (kind != KindIds::kUnknown) [[likely]]
    return kind;
  kind = intern(key.kind(), key.kind_hash());
  if (kind >= shard.asked.size()) shard.asked.resize(kind + 1U);
  if (kind < kMostKinds - 1) shard.kind_ids.add(key.kind_hash(), kind);
  return kind;
}

Kept& Memory::kept(KindId kind) {
  if (kind >= kept_.size()) [[unlikely]]
    kept_.resize(kind + 1U);
  return kept_[kind];
}

// Early refreshes follow XFetch (Vattani, Chierichetti, Lowenstein: Optimal Probabilistic Cache
// Stampede Prevention): a hit that is `left` seconds before the end draws u from (0, 1] and makes
// the entry anew if left <= -cost * early_refresh * ln u. Each hit draws by itself, so the more an
// entry is asked for, the earlier its refresh starts; the cost is what the refresh will take.
void Memory::check_times(Shard& s, Node node, bool draw, Found& found) const {
  const Times& times = times_[node];
  const bool coarse = entry(node).timed == Timed::coarse && !options_.now_ns;
  const std::int64_t now = coarse ? base::clock_ns(CLOCK_MONOTONIC_COARSE) : now_ns();
  if (now >= times.fresh_ns) {
    found.outcome = Outcome::wait;
    return;
  }
  if (now >= times.soft_ns) {
    found.outcome = Outcome::stale;
    return;
  }
  const double scale_s = static_cast<double>(entry(node).cost_s) * options_.early_refresh;
  if (!draw || scale_s <= 0 || found.outcome != Outcome::hit) return;
  const double left_s = static_cast<double>(times.soft_ns - now) * 1e-9;
  if (left_s > 40 * scale_s) return;  // -ln u is 37 at most
  s.random += 0x9E3779B97F4A7C15;
  std::uint64_t x = s.random;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  const double u = static_cast<double>(((x ^ (x >> 31)) >> 11) + 1) * 0x1p-53;
  found.early = left_s <= -scale_s * std::log(u);
}

Found Memory::get(const Key& key, bool count) {
  Shard& s = shard(key.low());
  s.table.prefetch(key.low());
  std::array<Touch, Shard::kTouched> batch;
  std::uint32_t batch_size = 0;
  Found found;
  {
    const Hold hold(s.lock);
    const Node node = find(s, key);
    if (node == kNoNode) {
      if (count) ++s.asked[kind_in(s, key)].misses;
      return found;
    }
    Entry& e = entry(node);
    found.outcome = e.negative ? Outcome::negative : Outcome::hit;
    if (e.timed != Timed::never) check_times(s, node, count, found);
    if (found.outcome == Outcome::wait) {
      if (count) ++s.asked[e.kind].misses;
      return found;
    }
    found.value.share(e.value);
    if (!count) return found;
    Asked& counts = s.asked[e.kind];
    ++(found.outcome == Outcome::hit     ? counts.hits
       : found.outcome == Outcome::stale ? counts.stale
                                         : counts.negative);
    counts.cost_saved_s += static_cast<double>(e.cost_s);
    const std::uint32_t times = e.notes.hit(age_.load(std::memory_order_relaxed));
    if (times == 0) return found;
    s.touched[s.touched_count++] = {key.low(), node, times};
    if (s.touched_count < touch_batch_.load(std::memory_order_relaxed)) return found;
    batch_size = s.take_touched(batch);
  }
  pass_on(batch.data(), batch_size);
  return found;
}

// To the policy, if nobody else has it: a note that is dropped costs less than waiting.
void Memory::pass_on(const Touch* touches, std::uint32_t count) {
  if (!policy_lock_.try_lock()) return;
  const std::lock_guard<ShortLock> hold(policy_lock_, std::adopt_lock);
  tell(touches, count);
}

void Memory::tell(const Touch* touches, std::uint32_t count) {
  news_ += policy_->touch(touches, count);
  if (news_ * 16 < size_) return;
  news_ = 0;
  age_.store(static_cast<std::uint8_t>(age_.load(std::memory_order_relaxed) + 1),
             std::memory_order_relaxed);
}

Value Memory::last_resort(const Key& key) {
  Shard& s = shard(key.low());
  const Hold hold(s.lock);
  const Node node = find(s, key);
  if (node == kNoNode || entry(node).negative) return {};
  if (entry(node).timed != Timed::never && now_ns() >= times_[node].gone_ns) return {};
  ++s.asked[entry(node).kind].stale;
  return entry(node).value;
}

Node Memory::new_node() {
  if (!free_.empty()) {
    const Node node = free_.back();
    free_.pop_back();
    return node;
  }
  if (made_ == Blocks<Entry>::kMost) return kNoNode;
  entries_.make_room(made_);
  new (&entry(made_)) Entry;
  return made_++;
}

double Memory::jittered(double seconds) noexcept {
  random_ += 0x9E3779B97F4A7C15;
  std::uint64_t x = random_;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  const double u = static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
  return seconds * (1 + options_.ttl_jitter * (2 * u - 1));
}

void Memory::set_times(Node node, const PutOptions& options, bool negative) {
  const double ttl = negative             ? options_.negative_ttl_s
                     : options.ttl_s >= 0 ? options.ttl_s
                                          : options_.ttl_s;
  const double soft = negative                  ? 0
                      : options.soft_ttl_s >= 0 ? options.soft_ttl_s
                                                : options_.soft_ttl_s;
  Entry& e = entry(node);
  if (ttl <= 0 && soft <= 0) {
    if (e.timed != Timed::never) wheel_.cancel(node);
    e.timed = Timed::never;
    return;
  }
  times_.make_room(node);
  const std::int64_t now = now_ns();
  Times times;
  if (ttl > 0) {
    const double lives = jittered(ttl);
    times.fresh_ns = time_after(now, lives);
    times.gone_ns = negative ? times.fresh_ns : time_after(now, lives + options_.stale_on_error_s);
  }
  times.soft_ns =
      soft > 0 ? std::min(time_after(now, jittered(soft)), times.fresh_ns) : times.fresh_ns;
  new (&times_[node]) Times(times);
  e.timed = times.soft_ns == kNever                  ? Timed::never
            : times.soft_ns - now < kPreciseBelow_ns ? Timed::precise
                                                     : Timed::coarse;
  if (times.gone_ns != kNever) {
    wheel_.schedule(node, times.gone_ns, now);
  } else {
    wheel_.cancel(node);
  }
}

// A value that is held outside counts as pinned from now on.
void Memory::take_value(Entry& e, Dead& dead) {
  Value value = std::exchange(e.value, Value());
  if (value.block_ == nullptr) return;
  Value::Block& block = value.block();
  if (block.count.load(std::memory_order_relaxed) > 1 && !block.left_cache.exchange(true)) {
    block.pinned = pinned_bytes_;
    pinned_bytes_->fetch_add(block.bytes, std::memory_order_relaxed);
  }
  dead.push_back(std::move(value));
}

void Memory::forget(Node node, Why why, Dead& dead) {
  Entry& e = entry(node);
  {
    Shard& s = shard(e.low);
    const Hold hold(s.lock);
    s.table.erase(e.low, node);
    take_value(e, dead);
    e.key.clear();
  }
  if (e.timed != Timed::never) wheel_.cancel(node);
  e.timed = Timed::never;
  free_.push_back(node);
  --size_;
  Kept& counts = kept(e.kind);
  --counts.entries;
  counts.bytes -= e.weight;
  if (why == Why::evicted) ++counts.evicted;
  if (why == Why::expired) ++counts.expired;
}

void Memory::evict(Dead& dead) {
  for (const Node node : evicted_) forget(node, Why::evicted, dead);
  evicted_.clear();
}

void Memory::expire(std::int64_t now, Dead& dead) {
  std::vector<Node> due;
  wheel_.advance(now, kExpireAtOnce, due);
  for (const Node node : due) {
    policy_->remove(node);
    forget(node, Why::expired, dead);
  }
}

bool Memory::put(const Key& key, Value value, const PutOptions& options, bool negative) {
  Shard& s = shard(key.low());
  const std::uint64_t weight = std::max<std::uint64_t>(value.bytes(), 1);
  Dead dead;
  const Hold hold(policy_lock_);
  policy_->expect(key.low());
  if (static_cast<double>(weight) > options_.largest_share * static_cast<double>(capacity_)) {
    ++kept(intern(key.kind(), key.kind_hash())).rejected;
    drop_old(key, dead);  // it is not what the key stands for any more
    return false;
  }
  if (!wheel_.empty()) expire(now_ns(), dead);
  Node node = kNoNode;
  bool added = false;
  std::uint64_t old_weight = 0;
  KindId kind = 0;
  std::array<Touch, Shard::kTouched> batch;
  std::uint32_t batch_size = 0;
  {
    const Hold in_shard(s.lock);
    batch_size = s.take_touched(batch);
    node = find(s, key);
    kind = kind_in(s, key);
    if (node == kNoNode) {
      node = new_node();
      if (node == kNoNode) return false;
      Entry& e = entry(node);
      e.low = key.low();
      e.high = key.high();
      e.key.assign(key.bytes());
      s.table.insert(key.low(), node, value.block_);
      added = true;
    } else {
      old_weight = entry(node).weight;
      take_value(entry(node), dead);
      s.table.set_count(key.low(), node, value.block_);
    }
    Entry& e = entry(node);
    e.value = std::move(value);
    e.weight = weight;
    e.cost_s = static_cast<float>(options.cost_s);
    e.kind = kind & 0xFFF;  // kMostKinds is below that
    e.negative = negative;
    if (added) e.notes = {};
    set_times(node, options, negative);
  }
  Kept& counts = kept(kind);
  ++counts.inserted;
  counts.bytes += weight - old_weight;
  tell(batch.data(), batch_size);
  ++news_;
  const std::uint32_t part = kind < options_.floors.size() ? kind + 1U : 0U;
  const Item item{key.low(), weight, options.cost_s, part};
  if (added) {
    ++counts.entries;
    ++size_;
    const auto fill = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(size_ / (8 * (shard_mask_ + 1)), 1, Shard::kTouched));
    if (fill != touch_batch_.load(std::memory_order_relaxed))
      touch_batch_.store(fill, std::memory_order_relaxed);
    policy_->insert(node, item, evicted_);
  } else if (old_weight == weight) {
    const Touch once{key.low(), node, 1};
    policy_->touch(&once, 1);
  } else {
    policy_->remove(node);
    policy_->insert(node, item, evicted_);
  }
  evict(dead);
  fetch_next();
  return true;
}

// What the next puts will need of what they evict: a full cache would wait for each of these lines.
// An entry's line comes one put before the line of its value, for it says where that is.
void Memory::fetch_next() noexcept {
  const Soon soon = policy_->soon();
  const auto fetch_entry = [this](const Next& next) {
    if (next.node == kNoNode) return;
    __builtin_prefetch(&entry(next.node), 1);
    shard(next.hash).table.prefetch(next.hash);
  };
  const auto fetch_value = [this](const Next& next) {
    if (next.node != kNoNode) __builtin_prefetch(entry(next.node).value.block_, 1);
  };
  fetch_entry(soon.second);
  fetch_value(soon.first);
  if (soon.other.node == soon_other_) {
    fetch_value(soon.other);
  } else {
    fetch_entry(soon.other);
  }
  soon_other_ = soon.other.node;
}

bool Memory::drop_old(const Key& key, Dead& dead) {
  Node node = kNoNode;
  {
    const Hold in_shard(shard(key.low()).lock);
    node = find(shard(key.low()), key);
  }
  if (node == kNoNode) return false;
  policy_->remove(node);
  forget(node, Why::erased, dead);
  return true;
}

bool Memory::erase(const Key& key) {
  Dead dead;
  const Hold hold(policy_lock_);
  return drop_old(key, dead);
}

void Memory::clear() {
  Dead dead;
  const Hold hold(policy_lock_);
  std::vector<Node> nodes;
  policy_->order(nodes);
  for (const Node node : nodes) {
    policy_->remove(node);
    forget(node, Why::erased, dead);
  }
}

void Memory::resize(std::uint64_t capacity) {
  Dead dead;
  const Hold hold(policy_lock_);
  capacity_ = capacity;
  policy_->set_capacity(capacity);
  policy_->shrink(evicted_);
  evict(dead);
}

std::size_t Memory::size() const {
  const Hold hold(policy_lock_);
  return size_;
}

}  // namespace genscope::optimize::cache
