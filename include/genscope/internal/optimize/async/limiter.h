// Limiter: so many units at once, and a fair order for who waits.
//
//   Limiter limiter(4);                                  // a semaphore of 4, fair
//   Permit permit = co_await limiter.acquire();          // waits its turn; throws if stopped
//   limiter.acquire(context, {}, [](WaitResult, Permit) {}) // the same by callback, without
//   coroutines Permit permit = limiter.acquire_blocking(context).value;   // the same for a thread
//
// Order: classes of priority, raised by waiting (aging); tenants take turns by cost; first come
// first served within a tenant. Nobody overtakes the one who is next, even if it would fit.
// A waiter leaves when its context is stopped or its deadline passes. A permit is given back by its
// destructor.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/function.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {

class Limiter;

struct LimiterOptions {
  // A waiter rises by one class for each of these that it waits; 0: never.
  nanoseconds aging = std::chrono::seconds(5);
  // More waiters are rejected at once; 0: no bound.
  std::size_t max_waiting = 0;
};

struct AcquireOptions {
  std::int64_t units = 1;  // held while the permit lives
  double cost = 0;         // what it counts in the turns of the tenants; 0: `units`
};

namespace internal {
class LimiterState;
struct Waiting;
}  // namespace internal

// Units that are held. Moves; outlives its Limiter if need be.
class [[nodiscard]] Permit {
 public:
  Permit() = default;
  Permit(Permit&& other) noexcept
      : limiter_(std::move(other.limiter_)), units_(std::exchange(other.units_, 0)) {}
  Permit& operator=(Permit&& other) noexcept {
    if (this != &other) {
      release();
      limiter_ = std::move(other.limiter_);
      units_ = std::exchange(other.units_, 0);
    }
    return *this;
  }
  ~Permit() { release(); }
  void release() noexcept;
  explicit operator bool() const noexcept { return units_ != 0; }

 private:
  friend class internal::LimiterState;
  Permit(std::shared_ptr<internal::LimiterState> limiter, std::int64_t units) noexcept
      : limiter_(std::move(limiter)), units_(units) {}
  std::shared_ptr<internal::LimiterState> limiter_;
  std::int64_t units_ = 0;
};

struct Acquired {
  WaitResult outcome = WaitResult::ok;
  Permit value;  // empty unless `ok`
};

struct LimiterStats {
  std::int64_t capacity = 0, in_use = 0;
  std::size_t waiting = 0;
  std::uint64_t granted = 0, cancelled = 0, timed_out = 0, rejected = 0;
  std::uint64_t waited_ns = 0;  // of those granted, together
  std::int64_t oldest_ns = 0;   // how long the oldest waits by now
};

class Limiter {
 public:
  explicit Limiter(std::int64_t capacity, const LimiterOptions& options = {});
  ~Limiter();  // who still waits stays waiting: stop them first
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  class Awaiter;
  // Awaitable, under the task's context or another.
  Awaiter acquire(AcquireOptions options = {}) noexcept;
  Awaiter acquire(const Context& context, AcquireOptions options = {}) noexcept;

  using Callback = UniqueFunction<void(WaitResult, Permit)>;
  // Calls back once: now, if there is room, else later, on the thread that made room, stopped the
  // context or fires timers. The callback must not block.
  void acquire(const Context& context, AcquireOptions options, Callback callback);
  Acquired acquire_blocking(const Context& context, AcquireOptions options = {});
  // Only if nobody waits and there is room.
  Acquired try_acquire(AcquireOptions options = {});

  // Share of a tenant in the turns; 1 unless told.
  void set_weight(const std::string& tenant, double weight);
  // More wakes waiters at once; less takes effect as permits come back.
  void set_capacity(std::int64_t capacity);
  LimiterStats stats() const;

 private:
  std::shared_ptr<internal::LimiterState> state_;
};

class Limiter::Awaiter {
 public:
  Awaiter(internal::LimiterState& limiter, internal::ContextState* context,
          AcquireOptions options) noexcept
      : limiter_(&limiter), context_(context), options_(options) {}
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> coroutine) {
    if (context_ == nullptr) context_ = coroutine.promise().context;
    resume_.suspend(coroutine);
    return wait();
  }
  Permit await_resume() {
    throw_if_stopped(result_.outcome);
    return std::move(result_.value);
  }

 private:
  bool wait();  // false: the result is there
  internal::LimiterState* limiter_;
  internal::ContextState* context_;  // the caller's: it waits, so it holds it
  AcquireOptions options_;
  internal::Resume resume_;
  Acquired result_;
};

}  // namespace genscope::optimize
