// Loads in flight: one a key, and those who wait for it.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "optimize/cache/memory.h"

namespace genscope::optimize {

// Owned by whoever leads it and by the table of flights. All but the key is under the table's
// mutex.
struct CacheFlight {
  Key key;
  struct Waiter {
    std::uint64_t number = 0;
    OnFetched on_fetched;
  };
  std::mutex* mutex = nullptr;  // of its part of the table, which `state` keeps alive
  std::weak_ptr<CacheState> state;
  std::deque<Waiter> waiters;
  std::uint64_t numbers = 0;
};

// Runs stale entries' loads one after the other. Its thread starts with the first.
class Refresher {
 public:
  ~Refresher() { stop(); }
  void run(std::function<void()> task);
  void stop();

 private:
  void work(const std::stop_token& stop);
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> tasks_;
  std::jthread thread_;
  bool stopped_ = false;
};

struct CacheState : std::enable_shared_from_this<CacheState> {
  explicit CacheState(const CacheOptions& options) : memory(options) {}

  Fetched begin(const Key& key, OnFetched on_fetched, Waiting* waiting);
  // The same for who has looked already.
  Fetched join(const Key& key, cache::Found found, OnFetched on_fetched, Waiting* waiting);
  void finish(CacheFlight& flight, Value value, PutOptions options, std::int64_t began_ns);
  Value fail(CacheFlight& flight, Error error, std::int64_t began_ns);
  void abandon(std::shared_ptr<CacheFlight> flight);
  std::uint64_t loading() const;

  cache::Memory memory;
  Refresher refresher;

 private:
  struct Hash128 {
    std::uint64_t low, high;
    bool operator<(const Hash128& other) const noexcept {
      return low != other.low ? low < other.low : high < other.high;
    }
  };
  // By hash; keys that share one stand in a row.
  struct alignas(64) Part {
    mutable std::mutex mutex;
    std::multimap<Hash128, std::shared_ptr<CacheFlight>> flights;
  };
  static constexpr std::size_t kParts = 16;

  Part& part(const Key& key) noexcept { return parts_[key.high() % kParts]; }
  static std::shared_ptr<CacheFlight> find(Part& part, const Key& key);
  static void drop(Part& part, const CacheFlight& flight);
  Lead lead(std::shared_ptr<CacheFlight> flight);
  // Ends the flight and takes those who wait.
  std::deque<CacheFlight::Waiter> land(CacheFlight& flight);

  std::array<Part, kParts> parts_;
};

}  // namespace genscope::optimize
