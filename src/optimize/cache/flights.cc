// One load a key. Whoever finds neither a value nor a flight makes a flight and leads it; the
// others leave a callback with it. The end of a flight is told to all of them, its abandonment to
// the first, who leads then. The value is in the cache before the flight is gone, and begin() looks
// once more under the mutex of the flights, so nobody starts a second load in between.
#include <algorithm>
#include <utility>

#include "optimize/cache/state.h"

namespace genscope::optimize {
namespace {

bool worth_remembering(ErrorCode code) noexcept {
  return code == ErrorCode::not_found || code == ErrorCode::invalid_argument ||
         code == ErrorCode::bad_data || code == ErrorCode::unsupported;
}

Fetched answer_of(cache::Found found) {
  Fetched fetched;
  fetched.outcome = found.outcome;
  if (found.outcome == Outcome::negative) {
    fetched.error = *found.value.as<Error>();
  } else {
    fetched.value = std::move(found.value);
  }
  return fetched;
}

}  // namespace

std::shared_ptr<CacheFlight> CacheState::find(Part& part, const Key& key) {
  const auto [first, last] = part.flights.equal_range({key.low(), key.high()});
  for (auto at = first; at != last; ++at) {
    if (at->second->key == key) return at->second;
  }
  return nullptr;
}

void CacheState::drop(Part& part, const CacheFlight& flight) {
  const auto [first, last] = part.flights.equal_range({flight.key.low(), flight.key.high()});
  for (auto at = first; at != last; ++at) {
    if (at->second.get() != &flight) continue;
    part.flights.erase(at);
    return;
  }
}

Lead CacheState::lead(std::shared_ptr<CacheFlight> flight) {
  Lead lead;
  lead.cache_ = shared_from_this();
  lead.flight_ = std::move(flight);
  lead.began_ns_ = memory.now_ns();
  return lead;
}

Fetched CacheState::begin(const Key& key, OnFetched on_fetched, Waiting* waiting) {
  return join(key, memory.get(key), std::move(on_fetched), waiting);
}

Fetched CacheState::join(const Key& key, cache::Found found, OnFetched on_fetched,
                         Waiting* waiting) {
  const bool early = found.early;
  if ((found.outcome == Outcome::hit && !early) || found.outcome == Outcome::negative) {
    return answer_of(std::move(found));
  }
  // Something to answer with: this call leads if nobody does, and never waits.
  const bool answered = early || found.outcome == Outcome::stale;
  Fetched fetched;
  if (answered) fetched = answer_of(std::move(found));
  Part& in = part(key);
  std::unique_lock lock(in.mutex);
  if (const std::shared_ptr<CacheFlight> flight = find(in, key); flight != nullptr) {
    if (answered) return fetched;
    fetched.outcome = Outcome::wait;
    flight->waiters.push_back({++flight->numbers, std::move(on_fetched)});
    if (waiting != nullptr) {
      waiting->flight_ = flight;
      waiting->number_ = flight->numbers;
    }
    return fetched;
  }
  // A leader may have come to its end since the first look.
  cache::Found again = memory.get(key, false);
  const bool made_meanwhile =
      again.outcome == Outcome::hit && !(early && again.value == fetched.value);
  if (made_meanwhile || again.outcome == Outcome::negative) return answer_of(std::move(again));
  auto flight = std::make_shared<CacheFlight>();
  flight->key = key;
  flight->mutex = &in.mutex;
  flight->state = weak_from_this();
  in.flights.emplace(Hash128{key.low(), key.high()}, flight);
  lock.unlock();
  if (early) memory.count_early(key);
  if (!answered) fetched.outcome = Outcome::lead;
  fetched.lead = lead(std::move(flight));
  return fetched;
}

std::deque<CacheFlight::Waiter> CacheState::land(CacheFlight& flight) {
  Part& in = part(flight.key);
  const std::lock_guard lock(in.mutex);
  drop(in, flight);
  return std::exchange(flight.waiters, {});
}

void CacheState::finish(CacheFlight& flight, Value value, PutOptions options,
                        std::int64_t began_ns) {
  const double took_s = static_cast<double>(memory.now_ns() - began_ns) * 1e-9;
  if (options.cost_s <= 0) options.cost_s = took_s;
  memory.put(flight.key, value, options);
  memory.count_load(flight.key, took_s, false);
  for (CacheFlight::Waiter& waiter : land(flight)) {
    memory.count_coalesced(flight.key, options.cost_s);
    Fetched fetched;
    fetched.outcome = Outcome::coalesced;
    fetched.value = value;
    waiter.on_fetched(std::move(fetched));
  }
}

Value CacheState::fail(CacheFlight& flight, Error error, std::int64_t began_ns) {
  memory.count_load(flight.key, static_cast<double>(memory.now_ns() - began_ns) * 1e-9, true);
  Value instead = memory.last_resort(flight.key);
  if (!instead && memory.options().negative_ttl_s > 0 && worth_remembering(error.code)) {
    const std::size_t bytes = sizeof(Error) + error.message.size();
    memory.put(flight.key, Value::of(error, bytes), {}, true);
  }
  for (CacheFlight::Waiter& waiter : land(flight)) {
    Fetched fetched;
    fetched.outcome = instead ? Outcome::stale : Outcome::failed;
    fetched.value = instead;
    if (!instead) fetched.error = error;
    waiter.on_fetched(std::move(fetched));
  }
  return instead;
}

void CacheState::abandon(std::shared_ptr<CacheFlight> flight) {
  OnFetched next;
  {
    Part& in = part(flight->key);
    const std::lock_guard lock(in.mutex);
    if (flight->waiters.empty()) {
      drop(in, *flight);
      return;
    }
    next = std::move(flight->waiters.front().on_fetched);
    flight->waiters.pop_front();
  }
  Fetched fetched;
  fetched.outcome = Outcome::lead;
  fetched.lead = lead(std::move(flight));
  next(std::move(fetched));
}

std::uint64_t CacheState::loading() const {
  std::uint64_t sum = 0;
  for (const Part& in : parts_) {
    const std::lock_guard lock(in.mutex);
    sum += in.flights.size();
  }
  return sum;
}

bool Waiting::cancel() noexcept {
  const std::shared_ptr<CacheFlight> flight = flight_.lock();
  if (flight == nullptr) return false;
  const std::shared_ptr<CacheState> state = flight->state.lock();
  if (state == nullptr) return false;
  OnFetched dropped;  // destroyed without the lock
  const std::lock_guard lock(*flight->mutex);
  const auto at = std::find_if(flight->waiters.begin(), flight->waiters.end(),
                               [this](const auto& waiter) { return waiter.number == number_; });
  if (at == flight->waiters.end()) return false;
  dropped = std::move(at->on_fetched);
  flight->waiters.erase(at);
  return true;
}

Lead& Lead::operator=(Lead&& other) noexcept {
  abandon();
  cache_ = std::move(other.cache_);
  flight_ = std::move(other.flight_);
  began_ns_ = other.began_ns_;
  return *this;
}

const Key& Lead::key() const noexcept { return flight_->key; }

void Lead::finish(Value value, PutOptions options) {
  const std::shared_ptr<CacheState> cache = std::move(cache_);
  const std::shared_ptr<CacheFlight> flight = std::move(flight_);
  if (flight != nullptr) cache->finish(*flight, std::move(value), options, began_ns_);
}

Value Lead::fail(Error error) {
  const std::shared_ptr<CacheState> cache = std::move(cache_);
  const std::shared_ptr<CacheFlight> flight = std::move(flight_);
  return flight != nullptr ? cache->fail(*flight, std::move(error), began_ns_) : Value();
}

void Lead::abandon() noexcept {
  const std::shared_ptr<CacheState> cache = std::move(cache_);
  std::shared_ptr<CacheFlight> flight = std::move(flight_);
  if (flight != nullptr) cache->abandon(std::move(flight));
}

}  // namespace genscope::optimize
