// One queue for each key, first come, first served. take() asks each key whether a batch is ready
// and takes from the one whose oldest request waits longest.
//
// A batch is ready if it is full; if nobody else is expected before the time to wait is over; or if
// waiting longer would endanger a deadline: the batch with one more request, by the model, must end
// before the tightest one. Where batches do not pay (gain of two below `least_gain`) each request
// runs at once and alone. Where that is not known, requests that happen to wait together are tried
// as two, without any delay.
//
// Isolation: a batch that failed is put back as two halves ahead of all else. A batch of n with one
// bad request takes at most 2 * log2(n) further runs, and never more than 2 * n.
//
// Invariants:
//   1. An id is in exactly one of: a key's `waiting`, `halves`, `running`.
//   2. It leaves for good once: as expired, cancelled, failed, or finished well.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <genscope/optimize/batch.h>

#include "base/text.h"
#include "optimize/flow/batch_model.h"
#include "optimize/flow/counters.h"
#include "optimize/flow/queue_book.h"

namespace genscope::optimize {
namespace {

constexpr std::size_t kMostBatchKeys = 1024;  // more: what was learnt about idle ones is forgotten

struct BatchKeyState;

struct WaitingItem {
  std::uint64_t id = 0;
  BatchKeyState* key = nullptr;
  double cost = 1;
  std::int64_t deadline_ns = kNoDeadline;
  std::int64_t arrived_ns = 0;
  QueueHistogram* times = nullptr;  // null: it began before, and failed with others
};

struct BatchKeyState {
  BatchModel model;
  double limit = 2;
  std::size_t out_at = SIZE_MAX;  // a batch of so many ran out of memory
  bool one_seen = false;
  std::size_t alone_since_look = 0;
  std::map<std::uint64_t, WaitingItem> waiting;  // ids count up: in order of arrival
  std::size_t elsewhere = 0;                     // of its requests, in halves or running
  std::optional<std::int64_t> last_arrival_ns;
  std::optional<double> gap_ns;  // between arrivals, smoothed
};

struct BatchDecision {
  std::size_t take = 0;
  std::int64_t wait_until_ns = kNoDeadline;
};

// What of a key would run now.
BatchDecision decide_batch(const BatchKeyState& key, const BatchOptions& options,
                           std::int64_t now_ns) {
  std::size_t cap = std::clamp<std::size_t>(static_cast<std::size_t>(key.limit), 1, options.most);
  cap = std::max<std::size_t>(1, std::min(cap, key.out_at - 1));
  const WaitingItem& oldest = key.waiting.begin()->second;
  const double unit = oldest.cost;
  const std::optional<double> pays = key.model.gain(2, unit);
  if (!pays) return {key.one_seen ? std::min<std::size_t>({2, cap, key.waiting.size()}) : 1, 0};
  if (*pays < options.least_gain) {
    const bool look = options.look_again_every > 0 && cap >= 2 && key.waiting.size() >= 2 &&
                      key.alone_since_look >= options.look_again_every;
    return {look ? std::size_t{2} : std::size_t{1}, 0};
  }
  // As many as end before the tightest deadline among them. One that would be late even alone does
  // not hold back the others.
  std::size_t taken = 0;
  double cost = 0;
  std::int64_t tightest = kNoDeadline;
  bool held_back = false;
  for (const auto& [id, item] : key.waiting) {
    if (taken == cap) break;
    if (taken > 0 && options.most_cost > 0 && cost + item.cost > options.most_cost) {
      held_back = true;
      break;
    }
    const std::int64_t alone =
        later(now_ns, seconds_to_ns(key.model.seconds(item.cost).value_or(0)));
    const std::int64_t with =
        alone <= item.deadline_ns ? std::min(tightest, item.deadline_ns) : tightest;
    const std::int64_t end =
        later(now_ns, seconds_to_ns(key.model.seconds(cost + item.cost).value_or(0)));
    if (taken > 0 && end > with) {
      held_back = true;
      break;
    }
    tightest = with;
    cost += item.cost;
    ++taken;
  }
  if (held_back || taken == cap) return {taken, 0};
  std::int64_t until = later(oldest.arrived_ns, seconds_to_ns(options.max_delay_seconds));
  if (tightest != kNoDeadline) {
    until = std::min(until, tightest - seconds_to_ns(key.model.seconds(cost + unit).value_or(0)));
  }
  const bool expected =
      !key.gap_ns || later(*key.last_arrival_ns, static_cast<std::int64_t>(*key.gap_ns)) <= until;
  if (now_ns >= until || !expected) return {taken, 0};
  return {0, until};
}

}  // namespace

struct BatchQueue::State {
  explicit State(BatchOptions given)
      : options(std::move(given)),
        shown_size(options.name, "batch_size"),
        shown_seconds(options.name, "batch_seconds"),
        shown_queue(options.name, "queue_seconds"),
        shown_waiting(options.name, "waiting"),
        shown_splits(options.name, "splits") {
    options.most = std::max<std::size_t>(1, options.most);
  }

  BatchKeyState& key_of(std::string_view text) {
    const auto found = keys.find(text);
    if (found != keys.end()) return found->second;
    if (keys.size() >= kMostBatchKeys) {
      for (auto it = keys.begin(); it != keys.end(); ++it) {
        if (!it->second.waiting.empty() || it->second.elsewhere > 0) continue;
        keys.erase(it);
        break;
      }
    }
    BatchKeyState& made = keys[std::string(text)];
    made.limit = static_cast<double>(std::min<std::size_t>(2, options.most));
    return made;
  }

  // `item` is a copy.
  void leave_queue(const WaitingItem& item) {
    if (item.deadline_ns != kNoDeadline) by_deadline.erase({item.deadline_ns, item.id});
    item.key->waiting.erase(item.id);
    --waiting;
  }

  void expire(std::int64_t now_ns, std::vector<std::uint64_t>& expired) {
    while (!by_deadline.empty() && by_deadline.begin()->first <= now_ns) {
      const std::uint64_t id = by_deadline.begin()->second;
      const WaitingItem item = *where.at(id);
      leave_queue(item);
      where.erase(id);
      expired.push_back(id);
    }
    for (std::vector<WaitingItem>& half : halves) {
      std::erase_if(half, [&](const WaitingItem& item) {
        if (item.deadline_ns > now_ns) return false;
        --item.key->elsewhere;
        expired.push_back(item.id);
        return true;
      });
    }
    std::erase_if(halves, [](const auto& half) { return half.empty(); });
    expired_count += expired.size();
  }

  void run(std::vector<WaitingItem> items, std::int64_t now_ns, Take& out) {
    shown_size.set(static_cast<double>(items.size()));
    shown_queue.set(ns_to_seconds(now_ns - items.front().arrived_ns));
    ++batches;
    for (WaitingItem& item : items) {
      if (QueueHistogram* const times = std::exchange(item.times, nullptr)) {
        times->add(ns_to_seconds(now_ns - item.arrived_ns));
        ++requests;
      }
      out.batch.push_back(item.id);
      running.emplace(item.id, item);
    }
    shown_waiting.set(static_cast<double>(waiting));
  }

  Take take(std::int64_t now_ns) {
    Take out;
    expire(now_ns, out.expired);
    if (!halves.empty()) {
      std::vector<WaitingItem> half = std::move(halves.front());
      halves.pop_front();
      run(std::move(half), now_ns, out);
      return out;
    }
    BatchKeyState* best = nullptr;
    std::size_t count = 0;
    for (auto& [text, key] : keys) {
      if (key.waiting.empty()) continue;
      const BatchDecision decision = decide_batch(key, options, now_ns);
      if (decision.take == 0) {
        out.wait_until_ns = std::min(out.wait_until_ns, decision.wait_until_ns);
      } else if (best == nullptr || key.waiting.begin()->first < best->waiting.begin()->first) {
        best = &key;
        count = decision.take;
      }
    }
    if (best == nullptr) {
      if (!by_deadline.empty())
        out.wait_until_ns = std::min(out.wait_until_ns, by_deadline.begin()->first);
      out.closed = closed && waiting == 0 && running.empty();
      return out;
    }
    if (count == 1)
      ++best->alone_since_look;
    else
      best->alone_since_look = 0;
    std::vector<WaitingItem> items;
    for (; count > 0; --count) {
      items.push_back(best->waiting.begin()->second);
      where.erase(items.back().id);
      leave_queue(items.back());
      ++best->elsewhere;
    }
    run(std::move(items), now_ns, out);
    return out;
  }

  void learn(BatchKeyState& key, const std::vector<WaitingItem>& items, double seconds,
             std::int64_t now_ns) {
    double cost = 0;
    bool missed = false;
    for (const WaitingItem& item : items) {
      cost += item.cost;
      missed = missed || now_ns > item.deadline_ns ||
               (options.slo_seconds > 0 &&
                ns_to_seconds(now_ns - item.arrived_ns) > options.slo_seconds);
    }
    key.model.add(cost, seconds);
    key.one_seen = key.one_seen || items.size() == 1;
    if (missed) {
      key.limit = std::max(1.0, key.limit * 0.9);
    } else if (items.size() >= static_cast<std::size_t>(key.limit)) {
      key.limit = std::min(static_cast<double>(options.most), key.limit + 1);
    }
    shown_seconds.set(seconds);
  }

  BatchOptions options;
  FlowCounter shown_size, shown_seconds, shown_queue, shown_waiting, shown_splits;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, BatchKeyState, std::less<>> keys;
  std::map<std::uint64_t, const WaitingItem*> where;  // of what waits
  std::set<std::pair<std::int64_t, std::uint64_t>> by_deadline;
  std::deque<std::vector<WaitingItem>> halves;
  std::map<std::uint64_t, WaitingItem> running;
  QueueBook book{{"key"}};
  std::uint64_t next_id = 1, splits = 0, requests = 0, batches = 0, expired_count = 0;
  std::size_t waiting = 0;
  bool closed = false;
};

BatchQueue::BatchQueue(BatchOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
BatchQueue::~BatchQueue() = default;

std::optional<std::uint64_t> BatchQueue::push(std::string_view text, double cost,
                                              std::int64_t deadline_ns, std::int64_t now_ns) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.closed || s.waiting >= s.options.most_waiting) return std::nullopt;
  BatchKeyState& key = s.key_of(text);
  const std::uint64_t id = s.next_id++;
  const WaitingItem item{id, &key, cost > 0 ? cost : 1, deadline_ns, now_ns, &s.book.row(text)};
  s.where[id] = &key.waiting.emplace(id, item).first->second;
  if (deadline_ns != kNoDeadline) s.by_deadline.insert({deadline_ns, id});
  if (key.last_arrival_ns) {
    const double gap =
        static_cast<double>(std::max<std::int64_t>(0, now_ns - *key.last_arrival_ns));
    key.gap_ns = key.gap_ns ? 0.8 * *key.gap_ns + 0.2 * gap : gap;
  }
  key.last_arrival_ns = now_ns;
  ++s.waiting;
  s.changed.notify_one();
  return id;
}

bool BatchQueue::cancel(std::uint64_t id) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  const auto found = s.where.find(id);
  if (found == s.where.end()) return false;
  const WaitingItem item = *found->second;
  s.where.erase(found);
  s.leave_queue(item);
  s.changed.notify_all();  // the last one may be what a closed queue waited for
  return true;
}

BatchQueue::Take BatchQueue::take(std::int64_t now_ns) {
  const std::lock_guard lock(state_->mutex);
  return state_->take(now_ns);
}

BatchQueue::Take BatchQueue::take_waiting() {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  for (;;) {
    const std::int64_t now = flow_now_ns();
    Take out = s.take(now);
    if (!out.batch.empty() || !out.expired.empty() || out.closed) return out;
    if (out.wait_until_ns == kNoDeadline) {
      s.changed.wait(lock);
    } else {
      s.changed.wait_for(
          lock, std::chrono::nanoseconds(std::max<std::int64_t>(1, out.wait_until_ns - now)));
    }
  }
}

BatchQueue::Finish BatchQueue::finish(std::span<const std::uint64_t> batch, const Failed* failure,
                                      double seconds, std::int64_t now_ns) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  std::vector<WaitingItem> items;
  for (const std::uint64_t id : batch) {
    const auto found = s.running.find(id);
    if (found == s.running.end()) continue;
    items.push_back(found->second);
    s.running.erase(found);
  }
  Finish out;
  if (items.empty()) return out;
  BatchKeyState& key = *items.front().key;
  if (failure != nullptr && failure->kind == Failure::out_of_memory) {
    key.out_at = std::max<std::size_t>(2, std::min(key.out_at, items.size()));
  }
  if (failure == nullptr) {
    s.learn(key, items, seconds, now_ns);
    key.elsewhere -= items.size();
  } else if (items.size() == 1 || failure->kind == Failure::cancelled) {
    for (const WaitingItem& item : items) out.failed.push_back(item.id);
    key.elsewhere -= items.size();
  } else {
    out.split = items.size();
    const auto middle = items.begin() + static_cast<std::ptrdiff_t>((items.size() + 1) / 2);
    s.halves.emplace_front(middle, items.end());
    s.halves.emplace_front(items.begin(), middle);
    s.shown_splits.set(static_cast<double>(++s.splits));
  }
  s.changed.notify_all();
  return out;
}

void BatchQueue::close() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->changed.notify_all();
}

std::vector<std::uint64_t> BatchQueue::cancel_all() {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  s.closed = true;
  std::vector<std::uint64_t> out;
  for (const auto& [id, item] : s.where) out.push_back(id);
  for (const std::vector<WaitingItem>& half : s.halves) {
    for (const WaitingItem& item : half) {
      --item.key->elsewhere;
      out.push_back(item.id);
    }
  }
  s.halves.clear();
  s.where.clear();
  s.by_deadline.clear();
  for (auto& [text, key] : s.keys) key.waiting.clear();
  s.waiting = 0;
  s.changed.notify_all();
  return out;
}

std::size_t BatchQueue::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

BatchStats BatchQueue::stats() const {
  const State& s = *state_;
  const std::lock_guard lock(s.mutex);
  return {.requests = s.requests,
          .batches = s.batches,
          .expired = s.expired_count,
          .splits = s.splits,
          .waiting = s.waiting,
          .running = s.running.size(),
          .queue = s.book.rows()};
}

const BatchOptions& BatchQueue::options() const noexcept { return state_->options; }

std::string prometheus_text(const BatchStats& stats, std::string_view name) {
  std::string out;
  const auto add = [&](const char* metric, const char* type, const char* help, std::uint64_t n) {
    out += fmt::format(
        "# HELP genscope_batcher_{0} {1}\n# TYPE genscope_batcher_{0} {2}\n"
        "genscope_batcher_{0}{{name=\"{3}\"}} {4}\n",
        metric, help, type, base::prometheus_label(name), n);
  };
  add("requests_total", "counter", "Requests that were run.", stats.requests);
  add("batches_total", "counter", "Batches in which they were run.", stats.batches);
  add("expired_total", "counter", "Requests whose deadline passed while they waited.",
      stats.expired);
  add("splits_total", "counter", "Batches that failed and were halved.", stats.splits);
  add("waiting", "gauge", "Requests that wait for a batch.", stats.waiting);
  return out + prometheus_histogram("genscope_batcher_queue_seconds",
                                    "Wait of the requests that were run.", name, stats.queue);
}

std::optional<double> BatchQueue::gain(std::string_view text, std::size_t b) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->keys.find(text);
  if (found == state_->keys.end()) return std::nullopt;
  return found->second.model.gain(b);
}

double BatchQueue::limit(std::string_view text) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->keys.find(text);
  if (found == state_->keys.end()) return 0;
  const std::size_t under = found->second.out_at - 1;
  return std::min(found->second.limit, static_cast<double>(under));
}

}  // namespace genscope::optimize
