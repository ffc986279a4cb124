// The limiter. A waiter is a block of its own, held by its place in the queue, by its timer and by
// whoever is just deciding about it. Whoever takes it off the queue, under the lock, has decided
// how it ends and calls back, without the lock: so each callback runs exactly once, and no unit is
// both granted and dropped.
#include <genscope/internal/optimize/async/limiter.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "optimize/async/fair_queue.h"

namespace genscope::optimize {
namespace internal {

struct Waiting : Queued, StopHook, Timer {
  Waiting(std::shared_ptr<LimiterState> at, const Context& under, Limiter::Callback then)
      : limiter(std::move(at)), context(under), callback(std::move(then)) {}
  void drop() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  std::atomic<int> refs{1};
  std::shared_ptr<LimiterState> limiter;
  Context context;
  Limiter::Callback callback;
  std::int64_t units = 1;
  bool hooked = false, timed = false;
  // Set once all hooks are in place; who takes it before leaves the rest to enqueue().
  bool ready = false, decided = false;
  WaitResult outcome = WaitResult::ok;
  Waiting* next_decided = nullptr;
};

class LimiterState : public std::enable_shared_from_this<LimiterState> {
 public:
  LimiterState(std::int64_t has, const LimiterOptions& with)
      : options_(with), queue_(with.aging.count()), capacity_(has) {}

  // `ok`: granted. Else `wait` says whether to queue, or the outcome is final.
  WaitResult try_now(AcquireOptions& options, bool may_wait, bool& wait) {
    if (options.cost <= 0) options.cost = static_cast<double>(options.units);
    const std::lock_guard lock(mutex_);
    wait = false;
    if (options.units > capacity_ || options.units < 0) return reject();
    if (queue_.size() == 0 && in_use_ + options.units <= capacity_) {
      in_use_ += options.units;
      ++stats_.granted;
      return WaitResult::ok;
    }
    if (!may_wait || (options_.max_waiting != 0 && queue_.size() >= options_.max_waiting)) {
      return reject();
    }
    wait = true;
    return WaitResult::ok;
  }
  void acquire(const Context& context, AcquireOptions options, Limiter::Callback callback);
  void enqueue(Waiting& waiting);
  void release(std::int64_t units) noexcept;
  // Takes it off the queue, if it is on it still.
  void drop_waiter(Waiting& waiting, WaitResult why) noexcept;
  Permit permit(std::int64_t units) { return Permit(shared_from_this(), units); }

  void set_capacity(std::int64_t capacity) {
    Waiting* granted = nullptr;
    {
      const std::lock_guard lock(mutex_);
      capacity_ = capacity;
      granted = grant();
    }
    finish(granted);
  }
  void set_weight(const std::string& tenant, double weight) {
    const std::lock_guard lock(mutex_);
    queue_.set_weight(tenant, weight);
  }
  LimiterStats stats() const;

 private:
  WaitResult reject() noexcept {
    ++stats_.rejected;
    return WaitResult::rejected;
  }
  Waiting* grant() noexcept;  // with the lock; a list
  void finish(Waiting* decided) noexcept;
  void call_back(Waiting& waiting) noexcept;

  const LimiterOptions options_;
  mutable std::mutex mutex_;
  FairQueue queue_;
  std::int64_t capacity_, in_use_ = 0;
  const Timers* timers_ = nullptr;  // of the last waiter: whose clock ages
  LimiterStats stats_;
};

Waiting* LimiterState::grant() noexcept {
  Waiting *first = nullptr, **last = &first;
  while (queue_.size() > 0) {
    const std::int64_t now = timers_->now_ns();
    auto& next = static_cast<Waiting&>(*queue_.peek(now));
    const bool fits = in_use_ + next.units <= capacity_;
    const bool never = next.units > capacity_;  // the limit was lowered
    if (!fits && !never) break;
    if (never) {
      queue_.remove(next);
      next.outcome = reject();
    } else {
      queue_.pop(next);
      in_use_ += next.units;
      ++stats_.granted;
      stats_.waited_ns +=
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - next.since_ns));
    }
    next.decided = true;
    if (!next.ready) continue;  // enqueue() is still at it, and will see
    *last = &next;
    last = &next.next_decided;
  }
  return first;
}

void LimiterState::call_back(Waiting& waiting) noexcept {
  if (waiting.hooked) waiting.context.state()->unhook(waiting);
  if (waiting.timed && waiting.context.timers().cancel(waiting)) waiting.drop();
  const WaitResult outcome = waiting.outcome;
  waiting.callback(outcome, outcome == WaitResult::ok ? permit(waiting.units) : Permit());
  waiting.drop();
}

void LimiterState::finish(Waiting* decided) noexcept {
  while (decided != nullptr) {
    Waiting* const next = decided->next_decided;
    call_back(*decided);
    decided = next;
  }
}

void LimiterState::drop_waiter(Waiting& waiting, WaitResult why) noexcept {
  Waiting* granted = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (waiting.decided) return;
    queue_.remove(waiting);
    waiting.decided = true;
    waiting.outcome = why;
    ++(why == WaitResult::timeout ? stats_.timed_out : stats_.cancelled);
    granted = grant();  // it may have been in the way of a smaller one
    if (waiting.ready) {
      waiting.next_decided = granted;
      granted = &waiting;
    }
  }
  finish(granted);
}

void LimiterState::enqueue(Waiting& waiting) {
  waiting.priority = waiting.context.priority();
  waiting.tenant = &waiting.context.tenant();
  Timers& timers = waiting.context.timers();
  waiting.since_ns = timers.now_ns();
  waiting.StopHook::call = [](StopHook& hook) noexcept {
    auto& self = static_cast<Waiting&>(hook);
    self.limiter->drop_waiter(self, WaitResult::cancelled);
  };
  waiting.fire = [](Timer& timer) noexcept {
    auto& self = static_cast<Waiting&>(timer);
    self.limiter->drop_waiter(self, WaitResult::timeout);
    self.drop();
  };
  Waiting* granted = nullptr;
  {
    const std::lock_guard lock(mutex_);
    timers_ = &timers;
    queue_.push(waiting);
    granted = grant();  // room may have come since we looked
  }
  finish(granted);
  waiting.hooked = waiting.context.state()->hook(waiting);
  if (!waiting.hooked) drop_waiter(waiting, WaitResult::cancelled);
  if (waiting.context.deadline_ns() != kNever) {
    waiting.timed = true;
    waiting.refs.fetch_add(1, std::memory_order_relaxed);
    timers.arm(waiting, waiting.context.deadline_ns());
  }
  {
    const std::lock_guard lock(mutex_);
    waiting.ready = true;
    if (!waiting.decided) return;
  }
  call_back(waiting);
}

void LimiterState::acquire(const Context& context, AcquireOptions options,
                           Limiter::Callback callback) {
  bool wait = false;
  WaitResult outcome = context.check();
  if (outcome == WaitResult::ok) outcome = try_now(options, true, wait);
  if (!wait) {
    callback(outcome, outcome == WaitResult::ok ? permit(options.units) : Permit());
    return;
  }
  auto* const waiting = new Waiting(shared_from_this(), context, std::move(callback));
  waiting->units = options.units;
  waiting->cost = options.cost;
  enqueue(*waiting);
}

void LimiterState::release(std::int64_t units) noexcept {
  Waiting* granted = nullptr;
  {
    const std::lock_guard lock(mutex_);
    in_use_ -= units;
    if (queue_.size() > 0) granted = grant();
  }
  finish(granted);
}

LimiterStats LimiterState::stats() const {
  const std::lock_guard lock(mutex_);
  LimiterStats now = stats_;
  now.capacity = capacity_;
  now.in_use = in_use_;
  now.waiting = queue_.size();
  if (const Queued* const oldest = queue_.oldest()) {
    now.oldest_ns = timers_->now_ns() - oldest->since_ns;
  }
  return now;
}

}  // namespace internal

void Permit::release() noexcept {
  if (units_ == 0) return;
  limiter_->release(std::exchange(units_, 0));
  limiter_.reset();
}

Limiter::Limiter(std::int64_t capacity, const LimiterOptions& options)
    : state_(std::make_shared<internal::LimiterState>(capacity, options)) {}
Limiter::~Limiter() = default;

Limiter::Awaiter Limiter::acquire(AcquireOptions options) noexcept {
  return Awaiter(*state_, nullptr, options);
}
Limiter::Awaiter Limiter::acquire(const Context& context, AcquireOptions options) noexcept {
  return Awaiter(*state_, context.state(), options);
}

bool Limiter::Awaiter::wait() {
  bool queue = false;
  const Context context = Context::from_state(context_);
  result_.outcome = context.check();
  if (result_.outcome == WaitResult::ok) result_.outcome = limiter_->try_now(options_, true, queue);
  if (!queue) {
    if (result_.outcome == WaitResult::ok) result_.value = limiter_->permit(options_.units);
    return false;
  }
  // Called back, perhaps before this returns: the coroutine is suspended by then.
  auto* const waiting = new internal::Waiting(limiter_->shared_from_this(), context,
                                              [this](WaitResult outcome, Permit permit) {
                                                result_.outcome = outcome;
                                                result_.value = std::move(permit);
                                                resume_.go_on();
                                              });
  waiting->units = options_.units;
  waiting->cost = options_.cost;
  limiter_->enqueue(*waiting);
  return true;
}

void Limiter::acquire(const Context& context, AcquireOptions options, Callback callback) {
  state_->acquire(context, options, std::move(callback));
}

Acquired Limiter::acquire_blocking(const Context& context, AcquireOptions options) {
  std::mutex mutex;
  std::condition_variable came;
  bool done = false;
  Acquired result;
  state_->acquire(context, options, [&](WaitResult outcome, Permit permit) {
    const std::lock_guard lock(mutex);
    result.outcome = outcome;
    result.value = std::move(permit);
    done = true;
    came.notify_one();
  });
  std::unique_lock lock(mutex);
  came.wait(lock, [&] { return done; });
  return result;
}

Acquired Limiter::try_acquire(AcquireOptions options) {
  bool wait = false;
  Acquired result;
  result.outcome = state_->try_now(options, false, wait);
  if (result.outcome == WaitResult::ok) result.value = state_->permit(options.units);
  return result;
}

void Limiter::set_weight(const std::string& tenant, double weight) {
  state_->set_weight(tenant, weight);
}
void Limiter::set_capacity(std::int64_t capacity) { state_->set_capacity(capacity); }
LimiterStats Limiter::stats() const { return state_->stats(); }

}  // namespace genscope::optimize
