// Where work runs: the one interface of pools, and the hop onto one.
//
//   co_await pool.schedule();   // what follows runs on a worker of the pool
#pragma once

#include <coroutine>
#include <string_view>

namespace genscope::optimize {

// One piece of queued work, embedded in what it belongs to: queueing it allocates nothing. It is
// the queue's from submit() until `run` is called; `run` may free it.
struct Work {
  using Run = void (*)(Work&) noexcept;
  Work* next = nullptr;
  Run run = nullptr;
};

class Hop;

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Runs `work` later, never inside of this call. `yielding`: the caller gives its thread back at
  // once, so that its own thread can take the work and no other need be woken.
  virtual void submit(Work& work, bool yielding = false) noexcept = 0;
  virtual std::string_view name() const noexcept = 0;

  // Awaitable: the coroutine goes on as work of this executor.
  Hop schedule() noexcept;
};

// The executor whose work the calling thread runs; null on other threads.
Executor* current_executor() noexcept;

namespace internal {

// Sets current_executor() while it lives.
class RunningOn {
 public:
  explicit RunningOn(Executor* executor) noexcept;
  ~RunningOn();
  RunningOn(const RunningOn&) = delete;
  RunningOn& operator=(const RunningOn&) = delete;

 private:
  Executor* before_;
};

// What finished on this thread and may be freed as soon as no frame of it is on the stack.
class Finished {
 public:
  virtual void bury() noexcept = 0;

 protected:
  ~Finished() = default;

 private:
  friend void resume(std::coroutine_handle<> coroutine) noexcept;
  friend void bury_later(Finished& finished) noexcept;
  Finished* next_finished_ = nullptr;
};
void bury_later(Finished& finished) noexcept;
// Every coroutine of ours is resumed through this.
void resume(std::coroutine_handle<> coroutine) noexcept;

// A suspended coroutine as work: it goes on where it was, or at once where that is unknown.
struct Resume : Work {
  std::coroutine_handle<> coroutine;
  Executor* home = nullptr;

  void suspend(std::coroutine_handle<> suspended) noexcept {
    coroutine = suspended;
    home = current_executor();
    run = [](Work& work) noexcept { internal::resume(static_cast<Resume&>(work).coroutine); };
  }
  void go_on() noexcept {
    if (home != nullptr) {
      home->submit(*this);
    } else {
      internal::resume(coroutine);
    }
  }
};

}  // namespace internal

class Hop : private internal::Resume {
 public:
  explicit Hop(Executor& to) noexcept { home = &to; }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    Executor* const to = home;
    suspend(suspended);
    to->submit(*this, current_executor() == to);
  }
  void await_resume() const noexcept {}
};

inline Hop Executor::schedule() noexcept { return Hop(*this); }

}  // namespace genscope::optimize
