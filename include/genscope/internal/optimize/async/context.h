// Context: what every call of a request carries. Deadline, priority, tenant, stop, trace.
//
//   Context request = Context::root({.timeout = 5s, .priority = 1, .tenant = "acme"});
//   Context part = request.child({.timeout = 2s});     // the earlier deadline holds
//   request.request_stop();                            // stops `part` as well, not the reverse
//
// A task inherits the context of who awaits or spawns it: co_await current_context(). A Context is
// a counted reference; copies are the same context. Threads: all of it is safe from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <genscope/internal/optimize/async/frames.h>
#include <genscope/internal/optimize/async/timers.h>

namespace genscope::optimize {

using std::chrono::nanoseconds;

// How something that waited came to its end.
enum class WaitResult : std::uint8_t {
  ok,
  cancelled,  // its context was asked to stop
  timeout,    // its deadline passed
  rejected,   // it was refused at once: a full queue, or more than the limit ever has
};
const char* name(WaitResult outcome) noexcept;

// What a task sees of an outcome that is not `ok`.
class Stopped : public std::exception {
 public:
  explicit Stopped(WaitResult why) noexcept : why_(why) {}
  WaitResult why() const noexcept { return why_; }
  const char* what() const noexcept override;

 private:
  WaitResult why_;
};
class Cancelled : public Stopped {
 public:
  Cancelled() noexcept : Stopped(WaitResult::cancelled) {}
};
class Timeout : public Stopped {
 public:
  Timeout() noexcept : Stopped(WaitResult::timeout) {}
};
class Rejected : public Stopped {
 public:
  Rejected() noexcept : Stopped(WaitResult::rejected) {}
};
// Throws what `outcome` says; nothing for `ok`.
void throw_if_stopped(WaitResult outcome);

// Classes of urgency; higher goes first. Values outside are taken as the nearest.
inline constexpr int kLowestPriority = -4, kHighestPriority = 3;

struct ContextOptions {
  // From now. With `deadline_ns`, or the parent's deadline, the earliest holds.
  std::optional<nanoseconds> timeout = {};
  // On the clock of `timers`.
  std::optional<std::int64_t> deadline_ns = {};
  std::optional<int> priority = {};         // none: the parent's, or 0
  std::optional<std::string> tenant = {};   // none: the parent's, or ""
  std::optional<std::uint64_t> trace = {};  // id of the span under which work is recorded
  Timers* timers = nullptr;                 // null: the parent's, or Timers::shared()
};

namespace internal {

struct ContextState;

// One function to call on stop, embedded in what it belongs to.
struct StopHook {
  using Call = void (*)(StopHook&) noexcept;
  Call call = nullptr;
  StopHook* next = nullptr;
  StopHook** link = nullptr;
};

// The state behind a Context. A child's hooks make it hook into its parent, not before: a context
// that nobody waits under costs its parent nothing. Asking walks up the parents.
struct ContextState : Recycled {
  explicit ContextState(ContextState* from) noexcept;

  void keep() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  bool try_keep() noexcept;
  void drop() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
  }
  bool stop_requested() const noexcept {
    for (const ContextState* at = this; at != nullptr; at = at->parent) {
      if (at->stopped.load(std::memory_order_acquire)) return true;
    }
    return false;
  }
  bool request_stop() noexcept;
  // False: stopped already, and the hook will not be called.
  bool hook(StopHook& hook) noexcept;
  // When it returns, the hook is not running, unless this thread runs it.
  void unhook(StopHook& hook) noexcept;

  std::atomic<std::uint32_t> refs{1};
  std::atomic<bool> stopped{false};
  bool linked = false;
  int priority = 0;
  ContextState* const parent;  // counted
  Timers* timers;
  std::int64_t deadline_ns = kNever;
  std::uint64_t trace = 0;
  const std::string* tenant;  // an ancestor's or our own
  void (*destroy)(ContextState&) noexcept;

 private:
  struct Upward : StopHook {
    ContextState* owner = nullptr;
  };
  void end() noexcept;

  std::mutex mutex_;
  std::condition_variable ran_;
  StopHook* hooks_ = nullptr;
  StopHook* running_ = nullptr;
  std::thread::id runner_;
  Upward upward_;
};

}  // namespace internal

class Context {
 public:
  // A root without deadline, of priority 0.
  Context();
  static Context root(const ContextOptions& options);
  Context child(const ContextOptions& options = {}) const;

  Context(const Context& other) noexcept : state_(other.state_) { state_->keep(); }
  Context& operator=(const Context& other) noexcept {
    Context copy(other);
    std::swap(state_, copy.state_);
    return *this;
  }
  ~Context() { state_->drop(); }

  std::int64_t deadline_ns() const noexcept { return state_->deadline_ns; }  // kNever: none
  std::int64_t left_ns() const noexcept;                                     // kNever: no deadline
  int priority() const noexcept { return state_->priority; }
  const std::string& tenant() const noexcept { return *state_->tenant; }
  std::uint64_t trace() const noexcept { return state_->trace; }
  Timers& timers() const noexcept { return *state_->timers; }

  // False: it was stopped before.
  bool request_stop() const noexcept { return state_->request_stop(); }
  bool stop_requested() const noexcept { return state_->stop_requested(); }
  // `ok`, or why work under this context should end: stopped, or past its deadline.
  WaitResult check() const noexcept;
  // Throws Cancelled or Timeout if work should end. Call it between steps.
  void checkpoint() const { throw_if_stopped(check()); }

  // For C code that takes `int (*should_stop)(void*)`: pass this and raw(), and keep the Context.
  static int should_stop(void* raw) noexcept;
  void* raw() const noexcept { return state_; }

  friend bool operator==(const Context&, const Context&) = default;

  // Takes a counted reference, or makes one.
  static Context from_state(internal::ContextState* state) noexcept {
    state->keep();
    return Context(state);
  }
  internal::ContextState* state() const noexcept { return state_; }

 private:
  explicit Context(internal::ContextState* owned) noexcept : state_(owned) {}
  internal::ContextState* state_;
};

// Calls `function` when the context is asked to stop, on the thread that asks; at once if it was.
// After the destructor it neither runs nor will.
template <class F>
class StopCallback : private internal::StopHook {
 public:
  StopCallback(const Context& context, F function)
      : context_(context), function_(std::move(function)) {
    call = [](internal::StopHook& hook) noexcept { static_cast<StopCallback&>(hook).function_(); };
    if (!context_.state()->hook(*this)) function_();
  }
  ~StopCallback() { context_.state()->unhook(*this); }
  StopCallback(const StopCallback&) = delete;
  StopCallback& operator=(const StopCallback&) = delete;

 private:
  Context context_;
  F function_;
};

}  // namespace genscope::optimize
