// Lane: the queue of one device. One body at a time (or `width`), in a fair order.
//
//   Lane lane("cuda:0");
//   Image image = co_await lane.run([&] { return pipeline(prompt); });   // from a task
//   lane.post(context, [] { ... });                                      // without coroutines
//   lane.run_blocking(context, [] { ... });                              // from any thread
//   Permit held = co_await lane.enter();   // the lane is yours, on your own thread, until it goes
//
// Bodies run on the lane's own threads, one for each of `width`. What waits is dropped when its
// context is stopped or its deadline passes; what runs keeps the lane until it has returned, also
// if its caller has left. While a session records, each body leaves two spans on the track
// "lane NAME": `lane_queue` and `lane_run`, under the span that the context's trace id names.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/function.h>
#include <genscope/internal/optimize/async/limiter.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {

struct LaneOptions {
  std::size_t width = 1;                        // bodies at once
  nanoseconds aging = std::chrono::seconds(5);  // as of a Limiter
  std::size_t max_waiting = 0;                  // more are rejected; 0: no bound
};

struct LaneStats {
  LimiterStats queue;
  std::size_t running = 0;
  std::uint64_t finished = 0;
  std::uint64_t run_ns = 0;  // of those that finished, together
};

class Lane {
 public:
  explicit Lane(std::string name, const LaneOptions& options = {});
  // Waits for what runs and what is queued; stop their contexts first if that should be soon.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  using Body = UniqueFunction<void()>;
  using Ended = UniqueFunction<void(WaitResult)>;
  // Queues a body. `ended` is called once, after the body has returned and the lane is free for the
  // next (`ok`), or instead of it; it must not block. A body must not throw.
  void post(const Context& context, Body body, Ended ended = {}, double cost = 1);
  // Runs it, and returns when it has returned: `ok`, or why it did not run. Not from a body of this
  // lane, which would wait for itself.
  WaitResult run_blocking(const Context& context, Body body, double cost = 1);

  template <class F>
  class Run;
  // Awaitable: what `function()` gives or throws. Throws Cancelled, Timeout or Rejected if it did
  // not run. The caller goes on where it was, not on the lane. It stays until the function has
  // returned, so references are fine unless with_timeout is around it.
  template <class F>
  Run<F> run(F function, double cost = 1) {
    return Run<F>(*this, std::move(function), cost);
  }
  // Awaitable: a permit for the lane.
  Limiter::Awaiter enter(double cost = 1) noexcept;

  std::string_view name() const noexcept;
  std::size_t width() const noexcept;
  Limiter& limiter() noexcept;
  LaneStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace internal {
// The text as long as the process lives.
const char* lasting(std::string_view text);
// Where a task that waits for a lane is shown.
class OnLane {
 public:
  void enter(TaskRecord& record, std::string_view lane) {
    record_ = &record;
    record_->lane.store(lasting(lane), std::memory_order_release);
  }
  void leave() const noexcept { record_->lane.store(nullptr, std::memory_order_release); }

 private:
  TaskRecord* record_ = nullptr;
};
}  // namespace internal

template <class F>
class Lane::Run {
 public:
  using Value = std::invoke_result_t<F&>;

  Run(Lane& lane, F function, double cost)
      : lane_(&lane), function_(std::move(function)), cost_(cost) {}
  Run(Run&&) = delete;
  bool await_ready() const noexcept { return false; }
  template <class P>
  void await_suspend(std::coroutine_handle<P> coroutine) {
    internal::PromiseBase& promise = coroutine.promise();
    shown_.enter(*promise.record, lane_->name());
    resume_.suspend(coroutine);
    lane_->post(
        Context::from_state(promise.context), [this] { call(); },
        [this](WaitResult outcome) {
          outcome_ = outcome;
          resume_.go_on();
        },
        cost_);
  }
  Value await_resume() {
    shown_.leave();
    throw_if_stopped(outcome_);
    if (error_) std::rethrow_exception(std::move(error_));
    if constexpr (!std::is_void_v<Value>) return std::move(*value_);
  }

 private:
  void call() noexcept {
    try {
      if constexpr (std::is_void_v<Value>) {
        function_();
      } else {
        value_.emplace(function_());
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  Lane* lane_;
  F function_;
  double cost_;
  WaitResult outcome_ = WaitResult::ok;
  internal::Resume resume_;
  internal::OnLane shown_;
  std::exception_ptr error_;
  std::optional<std::conditional_t<std::is_void_v<Value>, bool, Value>> value_;
};

}  // namespace genscope::optimize
