// Task<T>: a coroutine that gives a T to the one who awaits it.
//
//   Task<int> child() { co_return 1; }
//   Task<int> parent() { co_return 1 + co_await child(); }
//
// Lazy: it runs when awaited, on the awaiting thread, and goes on in the awaiter without growing
// the stack. Awaited once: `co_await std::move(task)`. An exception comes out of the co_await. A
// task that is never awaited is freed without having run.
//
// Parameters live as long as the task. A coroutine that is a lambda must not capture: its captures
// die with the lambda, not with the task; pass them as parameters.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/frames.h>

namespace genscope::optimize {

template <class T>
class Task;

namespace internal {

class ScopeState;

// Where a co_await stands in the source, in one word, so that others may read it at any time: the
// file name's address and the line above it.
struct AwaitSite {
  static constexpr int kLineShift = 48;
  std::uint64_t word;
  static AwaitSite here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept {
    return {reinterpret_cast<std::uint64_t>(file) | static_cast<std::uint64_t>(line) << kLineShift};
  }
};

// One spawned task, for the list of live tasks. All that it awaits writes its site here.
struct TaskRecord {
  std::atomic<std::uint64_t> site{0};
  std::atomic<const char*> lane{nullptr};  // in whose queue it waits, or on which it runs
  const char* name = "";
  std::int64_t since_ns = 0;
  ContextState* context = nullptr;
  ScopeState* scope = nullptr;
  TaskRecord *next = nullptr, *before = nullptr;
};

// Told when a task ends that nobody awaits.
class Completion : public Finished {
 public:
  // What to run next on this thread.
  virtual std::coroutine_handle<> finished() noexcept = 0;

 protected:
  ~Completion() = default;
};

// An awaiter that stays where it is: g++ 12 copies those that it is given, in templates.
template <class A>
class AwaiterAt {
 public:
  explicit AwaiterAt(A& awaiter) noexcept : awaiter_(&awaiter) {}
  bool await_ready() const noexcept { return awaiter_->await_ready(); }
  template <class P>
  auto await_suspend(std::coroutine_handle<P> coroutine) const {
    return awaiter_->await_suspend(coroutine);
  }
  decltype(auto) await_resume() const { return awaiter_->await_resume(); }

 private:
  A* awaiter_;
};

struct PromiseBase {
  static void* operator new(std::size_t bytes) { return take_block(bytes); }
  static void operator delete(void* block, std::size_t bytes) noexcept { give_block(block, bytes); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> ended) const noexcept {
      PromiseBase& promise = ended.promise();
      if (promise.continuation) return promise.continuation;
      return promise.completion->finished();
    }
    void await_resume() const noexcept {}
  };
  Final final_suspend() const noexcept { return {}; }

  template <class A>
  decltype(auto) await_transform(A&& awaited, AwaitSite site = AwaitSite::here()) noexcept {
    record->site.store(site.word, std::memory_order_relaxed);
    if constexpr (requires { std::forward<A>(awaited).operator co_await(); }) {
      return std::forward<A>(awaited).operator co_await();
    } else {
      return AwaiterAt<std::remove_reference_t<A>>(awaited);
    }
  }

  void inherit(const PromiseBase& from) noexcept {
    context = from.context;
    record = from.record;
  }

  std::coroutine_handle<> continuation;
  ContextState* context = nullptr;  // of who awaits this, or of the scope's member: outlives it
  TaskRecord* record = nullptr;
  Completion* completion = nullptr;
};

template <class T>
struct Promise : PromiseBase {
  Task<T> get_return_object() noexcept;
  void unhandled_exception() noexcept { result.template emplace<2>(std::current_exception()); }
  template <class U = T>
  requires std::is_constructible_v<T, U&&>
  void return_value(U&& value) { result.template emplace<1>(std::forward<U>(value)); }
  T take() {
    if (result.index() == 2) std::rethrow_exception(std::get<2>(std::move(result)));
    return std::get<1>(std::move(result));
  }
  std::exception_ptr error() const noexcept {
    return result.index() == 2 ? std::get<2>(result) : nullptr;
  }
  std::variant<std::monostate, T, std::exception_ptr> result;
};

template <>
struct Promise<void> : PromiseBase {
  inline Task<void> get_return_object() noexcept;
  void unhandled_exception() noexcept { failure = std::current_exception(); }
  void return_void() const noexcept {}
  void take() {
    if (failure) std::rethrow_exception(std::move(failure));
  }
  std::exception_ptr error() const noexcept { return failure; }
  std::exception_ptr failure;
};

}  // namespace internal

template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;
  using Value = T;

  Task() = default;
  explicit Task(Handle coroutine) noexcept : coroutine_(coroutine) {}
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  class Awaiter {
   public:
    explicit Awaiter(Handle coroutine) noexcept : coroutine_(coroutine) {}
    bool await_ready() const noexcept { return false; }
    template <class P>
    Handle await_suspend(std::coroutine_handle<P> awaiting) const noexcept {
      coroutine_.promise().inherit(awaiting.promise());
      coroutine_.promise().continuation = awaiting;
      return coroutine_;
    }
    T await_resume() const { return coroutine_.promise().take(); }

   private:
    Handle coroutine_;
  };
  Awaiter operator co_await() && noexcept { return Awaiter(coroutine_); }

  explicit operator bool() const noexcept { return static_cast<bool>(coroutine_); }
  Handle handle() const noexcept { return coroutine_; }

 private:
  Handle coroutine_;
};

namespace internal {

template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}
Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

// Base of what a task asks of its own promise: never really suspends.
class OfPromise {
 public:
  bool await_ready() const noexcept { return false; }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> asking) noexcept {
    promise_ = &asking.promise();
    return false;
  }

 protected:
  PromiseBase* promise_ = nullptr;
};

struct CurrentContext : OfPromise {
  Context await_resume() const noexcept { return Context::from_state(promise_->context); }
};
struct Checkpoint : OfPromise {
  void await_resume() const { Context::from_state(promise_->context).checkpoint(); }
};

}  // namespace internal

// co_await current_context(): the context of this task.
inline internal::CurrentContext current_context() noexcept { return {}; }
// co_await checkpoint(): throws Cancelled or Timeout if this task should end.
inline internal::Checkpoint checkpoint() noexcept { return {}; }

}  // namespace genscope::optimize
