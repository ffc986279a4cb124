// A cache for what a generation service makes again and again: prompt embeddings, latents, decoded
// pictures.
//
//   genscope::optimize::Cache cache({.capacity_bytes = 2ull << 30});
//   const Key key = KeyBuilder("embedding").add("model", id).add("prompt", prompt).build();
//   const Fetched got = cache.get_or_load(key, [&](const std::stop_token&) -> Result<Value> {
//     return Value::of(encode(prompt), bytes);
//   });
//   if (got.value) use(*got.value.as<Embedding>());
//
// What it does: keeps within a number of bytes, chooses what to keep (see CachePolicy), lets
// entries expire, runs one load however many ask for a key at once, and counts what it saved. All
// of Cache may be called from any thread. A hit takes one short lock and copies a reference to the
// value. It allocates nothing, but every sixteenth hands notes to the policy, whose books may grow.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "genscope/error.h"

namespace genscope::optimize {

namespace cache {
class Memory;
}

// What an entry is found by: canonical bytes, and their 128-bit hash (XXH3). The cache compares the
// bytes as well, so two keys with one hash never share a value.
class Key {
 public:
  Key() = default;
  std::string_view bytes() const noexcept { return bytes_; }
  std::uint64_t low() const noexcept { return low_; }
  std::uint64_t high() const noexcept { return high_; }
  // The first part: statistics are kept by it.
  std::string_view kind() const noexcept {
    return std::string_view(bytes_).substr(kind_at_, kind_size_);
  }
  std::uint64_t kind_hash() const noexcept { return kind_hash_; }
  std::string hex() const;  // of the hash, 32 digits
  bool operator==(const Key& other) const noexcept {
    return low_ == other.low_ && high_ == other.high_ && bytes_ == other.bytes_;
  }

 private:
  friend class KeyBuilder;
  std::string bytes_;
  std::uint64_t low_ = 0, high_ = 0, kind_hash_ = 0;
  std::uint32_t kind_at_ = 0, kind_size_ = 0;
};

// Makes keys of typed parts. Everything that goes into a result must go into its key: the model and
// its revision, dtype, quantization, LoRAs with their scales, and every input. Parts keep their
// order and their type: add(1), add(1.0), add("1") and add(true) differ, and ("ab", "c") is not
// ("a", "bc").
class KeyBuilder {
 public:
  explicit KeyBuilder(std::string_view kind);

  KeyBuilder& add(std::string_view text);
  KeyBuilder& add(const char* text) { return add(std::string_view(text)); }
  template <class T>
  requires(std::is_arithmetic_v<T>) KeyBuilder& add(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return add_bool(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return add_real(static_cast<double>(value));
    } else if constexpr (std::is_signed_v<T>) {
      return add_integer(value < 0, static_cast<std::uint64_t>(value));
    } else {
      return add_integer(false, value);
    }
  }
  KeyBuilder& add(std::nullptr_t);  // a part that is absent
  // Bytes. Beyond 1 KiB their length and 128-bit hash stand for them.
  KeyBuilder& add(std::span<const std::byte> bytes);
  // A part with a name.
  template <class T>
  KeyBuilder& add(std::string_view name, const T& value) {
    return add_name(name).add(value);
  }
  // A sequence of `count` parts, which are added next.
  KeyBuilder& begin_list(std::size_t count);
  // A map: `count` pairs of a name and a part, which are added next. Sort them first.
  KeyBuilder& begin_map(std::size_t count);
  // An integer of any size, as decimal text.
  KeyBuilder& add_big_integer(std::string_view decimal);
  // Shape, type and content of an array.
  KeyBuilder& add_array(std::string_view dtype, std::span<const std::int64_t> shape,
                        std::span<const std::byte> content);
  // LoRAs are a set: their order does not matter.
  KeyBuilder& lora(std::string_view name, double scale);

  Key build() const;

 private:
  KeyBuilder& add_bool(bool value);
  KeyBuilder& add_real(double value);  // -0.0 is 0.0; every NaN is the same
  KeyBuilder& add_integer(bool negative, std::uint64_t two_complement);
  KeyBuilder& add_name(std::string_view name);
  void put(char tag, std::string_view bytes);

  std::string bytes_;
  std::vector<std::pair<std::string, double>> loras_;
  std::uint32_t kind_at_ = 0, kind_size_ = 0;
};

// A counted reference to something of any type, and how to destroy it. Copies share it; the last
// one destroys it, on whichever thread that is: `destroy` may hand a GPU tensor to its own device.
class Value {
 public:
  using Destroy = void (*)(void* data, void* context);

  Value() = default;
  Value(const Value& other) noexcept : block_(other.block_) { hold(); }
  Value(Value&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Value() {
    if (block_ != nullptr) release();
  }

  // Takes `data` over. `bytes` is its weight in a cache, at least 1.
  static Value adopt(void* data, std::size_t bytes, Destroy destroy, void* context = nullptr);
  // Keeps `object`; as<T>() gives it back.
  template <class T>
  static Value of(T object, std::size_t bytes) {
    return adopt(new T(std::move(object)), bytes,
                 [](void* data, void*) { delete static_cast<T*>(data); });
  }

  explicit operator bool() const noexcept { return block_ != nullptr; }
  void* data() const noexcept;
  std::size_t bytes() const noexcept;
  // The type is the caller's to know; give each kind of key one type.
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data());
  }
  // Whether both share one thing.
  bool operator==(const Value& other) const noexcept { return block_ == other.block_; }

 private:
  friend class cache::Memory;
  struct Holders {  // the first part of a Block: copying a Value needs no more
    std::atomic<std::uint32_t> count{1};
  };
  struct Block;
  void hold() const noexcept {
    if (block_ != nullptr) block_->count.fetch_add(1, std::memory_order_relaxed);
  }
  void release() noexcept {
    if (block_->count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  void destroy() noexcept;
  void share(const Value& other) noexcept {  // this one is empty
    block_ = other.block_;
    hold();
  }
  Block& block() const noexcept;
  Holders* block_ = nullptr;
};

enum class CachePolicy : std::uint8_t {
  automatic,  // `adaptive` while entries are alike, `gdsf` when bytes or costs differ over 4 times
  adaptive,   // W-TinyLFU; small models of the cache choose its window
  s3,         // S3-FIFO with a small queue that adjusts itself: the cheapest hit
  gdsf,       // clock + asked * cost / bytes: saves the most seconds, not the most hits
};

class DiskTier;   // cache_tiers.h
class RedisTier;  // cache_tiers.h

// How values become bytes for a tier, and back.
struct ValueCodec {
  // False: this value stays in memory.
  std::function<bool(const Value& value, std::string& bytes)> encode = {};
  // Empty: these bytes are of no use.
  std::function<Value(std::string_view bytes)> decode = {};
};

// A share of the capacity for one kind of key, above 0 and at most 1. As long as the entries of the
// kind fit in it, none is evicted, whatever else comes. What the kind does not use, others may: it
// takes it back when it needs it. The shares of all floors are 1 at most.
struct KindFloor {
  std::string kind;
  double share = 0;
};

struct CacheOptions {
  // The weights of all entries stay within it. An entry's own bookkeeping, some 250 bytes and its
  // key, comes on top. With weights of 1 it is a number of entries.
  std::uint64_t capacity_bytes = std::uint64_t{256} << 20;
  CachePolicy policy = CachePolicy::automatic;
  // Seconds until an entry is gone; 0: never. Jitter spreads it, so that what was made together
  // does not expire together.
  double ttl_s = 0;
  double ttl_jitter = 0.1;
  // Seconds after which an entry is served as `stale` while one caller makes it anew; 0: never.
  double soft_ttl_s = 0;
  // Makes entries anew before their soft ttl or ttl ends, by chance: the later and the dearer an
  // entry, the likelier a hit is to start it. One caller makes it, the others get what is there, so
  // nobody waits for what is in use. 1 is usual; above 1 earlier, below 1 later; 0: not at all. It
  // needs get_or_load() or begin(), and the cost of an entry.
  double early_refresh = 0;
  // For so long after its ttl an entry may answer for a load that failed; 0: not at all.
  double stale_on_error_s = 0;
  // For so long an error that will come again (not_found, invalid_argument, bad_data, unsupported)
  // is remembered; 0: not at all. Cancellations and want of memory never are.
  double negative_ttl_s = 0;
  // An entry above this share of the capacity is refused and counted.
  double largest_share = 0.1;
  // Bytes that other kinds cannot take from a kind; see KindFloor.
  std::vector<KindFloor> floors = {};
  // How many parts have a lock of their own; 0: by capacity and cores, 1 to 64.
  unsigned shards = 0;
  // Nanoseconds that never go back; empty: the monotonic clock. For times of 10 s and more lookups
  // then read the coarse one: such an entry may be served some 4 ms (a tick of the kernel) longer.
  std::function<std::int64_t()> now_ns = {};
  std::uint64_t seed = 0x9E3779B97F4A7C15;  // of the jitter
  // Where get_or_load() looks before it loads, the disk first, and what it tells of a new value
  // once everybody who waits has it. They need a codec.
  std::shared_ptr<DiskTier> disk = {};
  std::shared_ptr<RedisTier> redis = {};
  ValueCodec codec = {};
};

struct PutOptions {
  double cost_s = 0;  // what making it took; 0: not known
  double ttl_s = -1;  // below 0: the cache's
  double soft_ttl_s = -1;
};

enum class Outcome : std::uint8_t {
  hit,        // it was there
  stale,      // it was there, past its soft ttl, or past its ttl and the load failed
  loaded,     // this call made it, or found it in a tier
  coalesced,  // another call made it while this one waited
  negative,   // a remembered error
  failed,     // the load failed
  cancelled,  // this call's stop token; others are not affected
  timed_out,  // this call's deadline
  lead,       // begin() only: make the value and tell `lead`
  wait,       // begin() only: the callback comes
};
const char* name(Outcome outcome) noexcept;

class Cache;
struct CacheState;
struct CacheFlight;

// The duty to make the value of one key, for everybody who waits for it. Whoever has it calls one
// of the three; destroying it abandons.
class Lead {
 public:
  Lead() = default;
  Lead(Lead&& other) noexcept = default;
  Lead& operator=(Lead&& other) noexcept;
  ~Lead() { abandon(); }

  explicit operator bool() const noexcept { return flight_ != nullptr; }
  const Key& key() const noexcept;
  // Puts it in the cache and gives it to all who wait. Without a cost, the time since this lead
  // began.
  void finish(Value value, PutOptions options = {});
  // All who wait get the error, or an entry that may answer for it: that is returned.
  Value fail(Error error);
  // Cancelled: the first who waits leads now, with the same duty. Nobody fails.
  void abandon() noexcept;

 private:
  friend struct CacheState;
  std::shared_ptr<CacheState> cache_;
  std::shared_ptr<CacheFlight> flight_;
  std::int64_t began_ns_ = 0;
};

struct Fetched {
  Outcome outcome = Outcome::failed;
  Value value;  // of hit, stale, loaded, coalesced
  Error error;  // of negative, failed
  Lead lead;    // of lead; of stale and hit, if it is this caller's to make it anew
};

// Runs once, on the thread of whoever ends the load. Outcomes: coalesced, stale, failed, or lead if
// the one before gave up. It must not block and must not throw.
using OnFetched = std::function<void(Fetched)>;

// A place among those who wait.
class Waiting {
 public:
  // True: the callback will not run. False: it ran, or is about to.
  bool cancel() noexcept;

 private:
  friend struct CacheState;
  std::weak_ptr<CacheFlight> flight_;
  std::uint64_t number_ = 0;
};

// Makes the value. The token is that of the call that leads: when it stops, return any error.
using Loader = std::function<Result<Value>(const std::stop_token& stop)>;

struct WaitOptions {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::stop_token stop = {};
  PutOptions put = {};
};

// Of one kind of key, since the cache was made.
struct KindStats {
  std::string kind;
  std::uint64_t hits = 0, misses = 0, coalesced = 0, stale = 0, negative = 0;
  std::uint64_t early = 0;  // of the hits: those that started a load before the time was up
  std::uint64_t loads = 0, load_failures = 0;
  std::uint64_t inserted = 0, evicted = 0, expired = 0, rejected = 0;
  std::uint64_t entries = 0, bytes = 0;  // now
  std::uint64_t floor_bytes = 0;         // what others cannot take
  // Sum of the costs of what was hit or waited for; an entry without a known cost adds none.
  double cost_saved_s = 0;
  // Of loads that get_or_load() or a Lead timed; NaN without one. Within 10 %.
  double load_p50_s = std::numeric_limits<double>::quiet_NaN();
  double load_p99_s = std::numeric_limits<double>::quiet_NaN();
};

struct CacheStats {
  KindStats total;  // kind is empty
  std::vector<KindStats> kinds;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t pinned_bytes = 0;  // of values that left the cache while somebody still held them
  std::string policy;              // in use now
  std::uint64_t loading = 0;       // keys being made
};

class Cache {
 public:
  // Without an error in the options, see check(); otherwise the program ends with its message.
  explicit Cache(CacheOptions options = {});
  // Whether a cache can be made of them: floors that do not fit, shares and times that make no
  // sense.
  static Status check(const CacheOptions& options);
  ~Cache();  // waits for refreshes that run; those who hold a Lead may keep it
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // Empty if there is none, if it expired, or if an error is remembered. Counts a hit, a stale hit
  // or a miss.
  Value get(const Key& key);
  // Whether get() would find it. Counts nothing.
  bool contains(const Key& key) const;
  // False if it was refused for its size. Replaces what was there.
  bool put(const Key& key, Value value, const PutOptions& options = {});
  bool erase(const Key& key);
  void clear();
  // Evicts at once what no longer fits.
  void resize(std::uint64_t capacity_bytes);
  std::size_t size() const;
  CacheStats stats() const;

  // The value from the cache, or from `loader`, which runs on this thread, at most once for all who
  // ask for the key meanwhile. A stale value is returned at once, as is one to refresh early, and
  // the loader runs on a thread of the cache, so it may outlive this call. An exception of the
  // loader's passes through; the next who waits leads then.
  Fetched get_or_load(const Key& key, const Loader& loader, const WaitOptions& options = {});

  // The same without a thread, for coroutines and event loops: hit, stale and negative are answers;
  // `lead` makes the value and tells the Lead; `wait` leaves `on_fetched` behind.
  Fetched begin(const Key& key, OnFetched on_fetched, Waiting* waiting = nullptr);

 private:
  std::shared_ptr<CacheState> state_;
};

}  // namespace genscope::optimize
