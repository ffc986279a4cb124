// with_timeout, sleep_for, under: tasks and time.
//
//   Image image = co_await with_timeout(2s, generate(prompt));   // throws Timeout
//
// The caller gets Timeout at once. The body is asked to stop, but runs until it returns: a kernel
// on a device cannot be stopped. It keeps its permits until then, so that nothing is
// oversubscribed, and its scope waits for it. So the body must own what it uses: give it values,
// not references to the caller's variables.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/scope.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {
namespace internal {

// A body with its own context and a timer. One block, counted as a context: the awaiting caller,
// the timer and the body's end each hold it.
struct TimeoutState : ContextState, Completion, Timer {
  enum Fate : int { pending, done, adopting, late };

  TimeoutState(PromiseBase& of_caller, std::int64_t due_ns) noexcept;
  std::coroutine_handle<> finished() noexcept final;
  void bury() noexcept final;
  void start(PromiseBase& body, std::coroutine_handle<> awaiting) noexcept;
  virtual void free_body() noexcept = 0;

  std::atomic<int> fate{pending};
  TaskRecord record;
  Resume resume;

 protected:
  ~TimeoutState() = default;
};

template <class T>
struct TimeoutBody final : TimeoutState {
  TimeoutBody(PromiseBase& of_caller, std::int64_t due_ns, Task<T> given) noexcept
      : TimeoutState(of_caller, due_ns), task(std::move(given)) {
    destroy = [](ContextState& state) noexcept { delete static_cast<TimeoutBody*>(&state); };
  }
  void free_body() noexcept override { task = Task<T>(); }
  Task<T> task;
};

template <class T>
class WithTimeout {
 public:
  WithTimeout(nanoseconds limit, Task<T> task) noexcept : limit_(limit), task_(std::move(task)) {}
  WithTimeout(WithTimeout&&) = delete;
  ~WithTimeout() {
    if (state_ != nullptr) state_->drop();
  }
  bool await_ready() const noexcept { return false; }
  template <class P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> awaiting) {
    PromiseBase& caller = awaiting.promise();
    std::int64_t due = caller.context->timers->now_ns();
    due = limit_.count() < kNever - due ? due + limit_.count() : kNever - 1;
    state_ = new TimeoutBody<T>(caller, due, std::move(task_));
    const auto body = state_->task.handle();
    state_->start(body.promise(), awaiting);
    return body;
  }
  T await_resume() {
    if (state_->fate.load(std::memory_order_acquire) == TimeoutState::late) throw Timeout();
    return state_->task.handle().promise().take();
  }

 private:
  nanoseconds limit_;
  Task<T> task_;
  TimeoutBody<T>* state_ = nullptr;
};

// A timer and a stop hook, whichever is first.
class Sleep : private StopHook, private Timer {
 public:
  explicit Sleep(nanoseconds length) noexcept : length_(length) {}
  Sleep(Sleep&&) = delete;
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> sleeping) noexcept {
    context_ = sleeping.promise().context;
    resume_.suspend(sleeping);
    return wait();
  }
  void await_resume();

 private:
  bool wait() noexcept;
  bool decide() noexcept;  // true: the caller resumes
  nanoseconds length_;
  ContextState* context_ = nullptr;
  Resume resume_;
  std::atomic<int> gate_{2};
  std::atomic<bool> decided_{false}, fired_{false};
  std::atomic<bool> stopped_{false};
  bool past_deadline_ = false, hooked_ = false, armed_ = false;
};

template <class T>
class UnderContext {
 public:
  UnderContext(Context context, Task<T> task) noexcept
      : context_(std::move(context)), task_(std::move(task)) {}
  UnderContext(UnderContext&&) = delete;
  bool await_ready() const noexcept { return false; }
  template <class P>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<P> awaiting) noexcept {
    const auto body = task_.handle();
    body.promise().inherit(awaiting.promise());
    body.promise().context = context_.state();
    body.promise().continuation = awaiting;
    return body;
  }
  T await_resume() { return task_.handle().promise().take(); }

 private:
  Context context_;
  Task<T> task_;
};

}  // namespace internal

// co_await: the task's value, or Timeout after `limit`, or at the context's deadline if that is
// earlier. What the body throws comes out as it is.
template <class T>
internal::WithTimeout<T> with_timeout(nanoseconds limit, Task<T> task) noexcept {
  return internal::WithTimeout<T>(limit, std::move(task));
}

// co_await: that much later; throws Cancelled or Timeout as soon as the context says so.
inline internal::Sleep sleep_for(nanoseconds length) noexcept { return internal::Sleep(length); }

// co_await: the task, under another context, usually a child of current_context().
template <class T>
internal::UnderContext<T> under(Context context, Task<T> task) noexcept {
  return internal::UnderContext<T>(std::move(context), std::move(task));
}

}  // namespace genscope::optimize
