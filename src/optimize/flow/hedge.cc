// Each call earns `extra_ratio` of a copy and a copy costs one, from nothing at the start: so
// copies are never more than that share of the calls, at any moment.
//
// run() puts each copy on a thread of its own; the first success is taken under a lock, and the
// other's result is dropped. Threads of losers are joined when they have ended, at a later call or
// by the destructor.
#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include <genscope/optimize/retry.h>

#include "optimize/flow/counters.h"
#include "optimize/flow/quantile.h"

namespace genscope::optimize {

struct Hedge::State {
  explicit State(HedgeOptions given) : options(std::move(given)), shown(options.name, "hedges") {}

  struct Runner {
    std::jthread thread;
    std::shared_ptr<std::atomic<bool>> ended;
  };
  // Joins threads that have ended; `all`: waits for the others, too.
  void reap(bool all) {
    std::list<Runner> over;
    {
      const std::lock_guard lock(mutex);
      for (auto it = runners.begin(); it != runners.end();) {
        const auto next = std::next(it);
        if (all || it->ended->load()) over.splice(over.end(), runners, it);
        it = next;
      }
    }
    for (Runner& runner : over) runner.thread.request_stop();
  }  // joined here

  HedgeOptions options;
  FlowCounter shown;
  std::mutex mutex;
  StreamingQuantile times;
  double saved = 0;
  std::uint64_t calls = 0, copies = 0;
  std::list<Runner> runners;
};

Hedge::Hedge(HedgeOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Hedge::~Hedge() { state_->reap(true); }

std::optional<std::int64_t> Hedge::begin() {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  ++s.calls;
  s.saved = std::min(static_cast<double>(s.options.burst), s.saved + s.options.extra_ratio);
  const std::optional<double> after = s.times.at(s.options.quantile);
  if (!after) return std::nullopt;
  return seconds_to_ns(*after);
}

std::optional<std::size_t> Hedge::copy(std::size_t devices, std::size_t used) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (devices < 2 || s.saved < 1 - 1e-9) return std::nullopt;
  s.saved = std::max(0.0, s.saved - 1);
  s.shown.set(static_cast<double>(++s.copies));
  return (used + 1 + s.copies % (devices - 1)) % devices;  // in turn over the others
}

void Hedge::finished(double seconds) {
  const std::lock_guard lock(state_->mutex);
  state_->times.add(seconds);
}

std::uint64_t Hedge::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}
std::uint64_t Hedge::copies() const {
  const std::lock_guard lock(state_->mutex);
  return state_->copies;
}

void Hedge::run_erased(std::size_t devices, std::size_t first,
                       std::function<Copy(std::size_t, std::stop_token)> body) {
  struct Race {
    std::mutex mutex;
    std::condition_variable changed;
    int begun = 0, ended = 0;
    bool won = false;
    std::optional<Copy> last;  // a failure, if none succeeds
    std::stop_source stop;
  };
  state_->reap(false);
  const auto race = std::make_shared<Race>();
  const auto start = [this, &body, &race](std::size_t device) {
    ++race->begun;
    auto ended = std::make_shared<std::atomic<bool>>(false);
    std::jthread thread([race, body, device, ended](const std::stop_token& own) {
      const std::stop_callback pass_on(own, [&race] { race->stop.request_stop(); });
      Copy copy = body(device, race->stop.get_token());
      {
        const std::lock_guard lock(race->mutex);
        ++race->ended;
        if (!race->won) {
          race->won = copy.ok;
          race->last = std::move(copy);
        }
        if (race->won) race->stop.request_stop();
        race->changed.notify_all();
      }
      ended->store(true);
    });
    const std::lock_guard lock(state_->mutex);
    state_->runners.push_back({std::move(thread), std::move(ended)});
  };

  const std::optional<std::int64_t> after = begin();
  const std::int64_t from = flow_now_ns();
  std::unique_lock lock(race->mutex);
  start(first);
  const auto over = [&race] { return race->won || race->ended == race->begun; };
  if (after && !race->changed.wait_for(lock, std::chrono::nanoseconds(*after), over)) {
    if (const auto other = copy(devices, first)) start(*other);
  }
  race->changed.wait(lock, over);
  const bool won = race->won;
  Copy winner = std::move(*race->last);
  lock.unlock();
  winner.take();
  if (won) finished(ns_to_seconds(flow_now_ns() - from));
}

}  // namespace genscope::optimize
