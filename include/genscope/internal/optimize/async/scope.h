// Scope: a group of tasks that ends as a whole. No task outlives its scope.
//
//   Task<void> serve(Pool& pool) {
//     Scope scope(pool, co_await current_context());
//     scope.spawn(first(), "first");
//     scope.spawn(second(), "second");
//     co_await scope.join();                    // throws the first error; the others were stopped
//   }
//
// The destructor asks what still runs to stop and waits for it, blocking its thread: join() first.
// sync_wait() runs a task from ordinary code, in a scope of its own.
//
// live_tasks() lists what runs, in all scopes: where each waits, since when, until when.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <genscope/internal/optimize/async/context.h>
#include <genscope/internal/optimize/async/executor.h>
#include <genscope/internal/optimize/async/task.h>

namespace genscope::optimize {

namespace internal {
class LoopExecutor;
}

struct LiveTask {
  std::string name;
  std::string await_file;  // the last co_await that it reached; empty: none yet
  int await_line = 0;
  std::int64_t age_ns = 0;
  std::optional<std::int64_t> left_ns;  // until its deadline; none: it has none
  std::string lane;                     // whose queue it waits in, or which runs it; may be empty
  std::string tenant;
  int priority = 0;
};

enum class OnError : std::uint8_t {
  stop_siblings,  // the first error asks the others to stop, and join() throws it
  collect_all,    // errors are kept for errors(), and nobody is stopped
};

struct TaskError {
  std::string name;
  std::exception_ptr error;
};

struct ScopeOptions {
  OnError on_error = OnError::stop_siblings;
};

class Scope {
 public:
  // Tasks start as work of `executor`, under a child of `context`.
  explicit Scope(Executor& executor, const Context& context = {}, const ScopeOptions& options = {});
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // `name` must stay: give a literal. False: the scope is closed, and the task did not run.
  bool spawn(Task<void> task, const char* name = "");
  bool spawn(Task<void> task, const char* name, const Context& context);

  // Awaitable: until all tasks have ended. One at a time.
  class Join;
  Join join() noexcept;
  // The same for a thread that is no worker of the executor.
  void wait();
  // No more tasks from here on. Waits up to `grace` for those there are, then asks the rest to stop
  // and says which: join() or the destructor still waits for them.
  Task<std::vector<LiveTask>> close(nanoseconds grace);
  // The same, blocking.
  std::vector<LiveTask> close_blocking(nanoseconds grace);

  void request_stop() noexcept;
  const Context& context() const noexcept;
  std::size_t size() const noexcept;
  std::vector<LiveTask> live() const;
  std::vector<TaskError> errors() const;  // with collect_all

 private:
  friend class internal::LoopExecutor;
  std::unique_ptr<internal::ScopeState> state_;
};

namespace internal {

struct Joiner : Resume {};
// False: there is nothing to wait for.
bool join_later(ScopeState& scope, Joiner& joiner, std::coroutine_handle<> coroutine) noexcept;
void finish_join(ScopeState& scope);
// A body that its caller left behind becomes a task of the caller's scope, and leaves it at its
// end.
void adopt(TaskRecord& body, ScopeState& scope) noexcept;
void leave(TaskRecord& body) noexcept;

// Runs what is submitted on the thread that calls run().
class LoopExecutor final : public Executor {
 public:
  LoopExecutor();
  ~LoopExecutor() override;
  void submit(Work& work, bool yielding) noexcept override;
  std::string_view name() const noexcept override { return "caller"; }
  // Until `scope` is empty.
  void run(Scope& scope) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Where a task's end is kept for who is no task.
template <class T>
struct Kept {
  std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> value;
  std::exception_ptr error;
};
template <class T>
Task<void> keep_result(Task<T> task, Kept<T>* kept) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(task);
      kept->value = true;
    } else {
      kept->value.emplace(co_await std::move(task));
    }
  } catch (...) {
    kept->error = std::current_exception();
  }
}
void run_to_end(Task<void> task, const Context& context);

}  // namespace internal

class Scope::Join : private internal::Joiner {
 public:
  explicit Join(internal::ScopeState& scope) noexcept : scope_(&scope) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> joining) noexcept {
    return internal::join_later(*scope_, *this, joining);
  }
  void await_resume() const { internal::finish_join(*scope_); }

 private:
  internal::ScopeState* scope_;
};

// Runs a task on the calling thread until it, and all that it left behind, has ended. What the task
// threw comes out.
template <class T>
T sync_wait(Task<T> task, const Context& context = {}) {
  internal::Kept<T> kept;
  internal::run_to_end(internal::keep_result(std::move(task), &kept), context);
  if (kept.error) std::rethrow_exception(kept.error);
  if constexpr (!std::is_void_v<T>) return std::move(*kept.value);
}

std::vector<LiveTask> live_tasks();

}  // namespace genscope::optimize
