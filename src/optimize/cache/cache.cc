// A hit takes nothing but Memory's lookup. All else goes through a flight (flight.h): the first who
// asks for a key leads, those who come meanwhile wait for what it makes. get_or_load() is begin()
// with a mailbox as its callback, so threads and coroutines share one path.
//
// Tiers are asked by the leader only, and told after everybody has the value: a slow disk delays
// one caller, not all. A refresh does not ask them, since they may have the value that is to be
// replaced. It runs on a thread of the cache, which is started by the first one.
#include "genscope/optimize/cache.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "genscope/optimize/cache_tiers.h"
#include "optimize/cache/state.h"

namespace genscope::optimize {
namespace {

// Where one blocked call waits for its callback.
struct CacheMailbox {
  std::mutex mutex;
  std::condition_variable_any came;
  std::optional<Fetched> mail;

  void post(Fetched fetched) {
    const std::lock_guard lock(mutex);
    mail = std::move(fetched);
    came.notify_all();
  }
  // Empty if the token stops or the deadline passes first.
  std::optional<Fetched> wait(const WaitOptions& options) {
    std::unique_lock lock(mutex);
    const auto is_there = [this] { return mail.has_value(); };
    if (options.deadline == std::chrono::steady_clock::time_point::max()) {
      came.wait(lock, options.stop, is_there);
    } else {
      came.wait_until(lock, options.stop, options.deadline, is_there);
    }
    return std::exchange(mail, std::nullopt);
  }
};

double ttl_for_tiers(const CacheOptions& options, const PutOptions& put) {
  return put.ttl_s >= 0 ? put.ttl_s : options.ttl_s;
}

// From the nearest tier that has it. What only Redis had is put on the disk, too.
Value from_tiers(const Key& key, const CacheOptions& options, const PutOptions& put) {
  if (!options.codec.decode) return {};
  std::optional<std::string> bytes;
  bool on_disk = false;
  if (options.disk) {
    bytes = options.disk->get(key);
    on_disk = bytes.has_value();
  }
  if (!bytes && options.redis) bytes = options.redis->get(key);
  if (!bytes) return {};
  if (!on_disk && options.disk) options.disk->put(key, *bytes, ttl_for_tiers(options, put));
  return options.codec.decode(*bytes);
}

void to_tiers(const Key& key, const Value& value, const CacheOptions& options,
              const PutOptions& put) {
  if (!options.codec.encode || (!options.disk && !options.redis)) return;
  std::string bytes;
  if (!options.codec.encode(value, bytes)) return;
  if (options.disk) options.disk->put(key, bytes, ttl_for_tiers(options, put));
  if (options.redis) options.redis->put(key, bytes, ttl_for_tiers(options, put));
}

// Makes the value that `fetched.lead` is for. A refresh does not ask the tiers: they may have the
// old one.
Fetched load_value(Fetched fetched, const Loader& loader, const CacheOptions& options,
                   const WaitOptions& wait, bool refresh) {
  const Key key = fetched.lead.key();
  if (Value found = refresh ? Value() : from_tiers(key, options, wait.put)) {
    fetched.value = std::move(found);
    fetched.outcome = Outcome::loaded;
    std::exchange(fetched.lead, Lead()).finish(fetched.value, wait.put);
    return fetched;
  }
  Result<Value> made = loader(wait.stop);
  if (made.ok()) {
    fetched.value = std::move(*made);
    fetched.outcome = Outcome::loaded;
    std::exchange(fetched.lead, Lead()).finish(fetched.value, wait.put);
    to_tiers(key, fetched.value, options, wait.put);
  } else if (wait.stop.stop_requested()) {
    fetched.outcome = Outcome::cancelled;
    fetched.lead.abandon();
  } else {
    fetched.error = made.error();
    fetched.value = std::exchange(fetched.lead, Lead()).fail(made.error());
    fetched.outcome = fetched.value ? Outcome::stale : Outcome::failed;
  }
  return fetched;
}

}  // namespace

Cache::Cache(CacheOptions options) {
  if (const Status fits = check(options); !fits) {
    std::fprintf(stderr, "genscope: %s\n", fits.error().message.c_str());
    std::abort();
  }
  state_ = std::make_shared<CacheState>(options);
}
Cache::~Cache() { state_->refresher.stop(); }

Value Cache::get(const Key& key) {
  cache::Found found = state_->memory.get(key);
  return found.outcome == Outcome::negative ? Value() : std::move(found.value);
}

bool Cache::contains(const Key& key) const {
  const Outcome outcome = state_->memory.get(key, false).outcome;
  return outcome == Outcome::hit || outcome == Outcome::stale;
}

bool Cache::put(const Key& key, Value value, const PutOptions& options) {
  return state_->memory.put(key, std::move(value), options);
}

bool Cache::erase(const Key& key) { return state_->memory.erase(key); }
void Cache::clear() { state_->memory.clear(); }
void Cache::resize(std::uint64_t capacity_bytes) { state_->memory.resize(capacity_bytes); }
std::size_t Cache::size() const { return state_->memory.size(); }

CacheStats Cache::stats() const {
  CacheStats stats = state_->memory.stats();
  stats.loading = state_->loading();
  return stats;
}

Fetched Cache::begin(const Key& key, OnFetched on_fetched, Waiting* waiting) {
  return state_->begin(key, std::move(on_fetched), waiting);
}

Fetched Cache::get_or_load(const Key& key, const Loader& loader, const WaitOptions& options) {
  cache::Found found = state_->memory.get(key);
  Fetched fetched;
  if (found.outcome == Outcome::hit && !found.early) [[likely]] {
    fetched.outcome = Outcome::hit;
    fetched.value = std::move(found.value);
    return fetched;
  }
  const auto mailbox = std::make_shared<CacheMailbox>();
  Waiting waiting;
  fetched = state_->join(
      key, std::move(found), [mailbox](Fetched mail) { mailbox->post(std::move(mail)); }, &waiting);
  if (fetched.outcome == Outcome::wait) {
    std::optional<Fetched> mail = mailbox->wait(options);
    if (!mail && !waiting.cancel()) mail = mailbox->wait({});  // it is on its way
    if (!mail) {
      fetched.outcome = options.stop.stop_requested() ? Outcome::cancelled : Outcome::timed_out;
      return fetched;
    }
    fetched = std::move(*mail);
  }
  if (fetched.outcome != Outcome::lead && fetched.lead) {
    // std::function copies, a Lead does not.
    const auto lead = std::make_shared<Lead>(std::exchange(fetched.lead, Lead()));
    CacheState* const state = state_.get();  // its refresher ends before it does
    state_->refresher.run([lead, loader, state, put = options.put] {
      Fetched refreshed;
      refreshed.lead = std::move(*lead);
      WaitOptions wait;
      wait.put = put;
      load_value(std::move(refreshed), loader, state->memory.options(), wait, true);
    });
  }
  if (fetched.outcome != Outcome::lead) return fetched;
  // Handed over to a call that has stopped meanwhile: the next one, please.
  if (options.stop.stop_requested()) {
    fetched.lead.abandon();
    fetched.outcome = Outcome::cancelled;
    return fetched;
  }
  return load_value(std::move(fetched), loader, state_->memory.options(), options, false);
}

void Refresher::run(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;  // dropping the task abandons its lead
  tasks_.push_back(std::move(task));
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }
  wake_.notify_one();
}

void Refresher::stop() {
  std::deque<std::function<void()>> dropped;
  std::jthread thread;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
    thread = std::move(thread_);
  }
  if (!thread.joinable()) return;
  thread.request_stop();  // and joins
  wake_.notify_all();
}

void Refresher::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (wake_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    try {
      task();
    } catch (...) {  // a loader's: nobody waits for a refresh, and its lead was abandoned
    }
    task = nullptr;
    lock.lock();
  }
}

}  // namespace genscope::optimize
