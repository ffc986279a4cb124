// Retries, breakers and hedged calls: how a service meets a dependency that fails or is slow.
//
//   genscope::optimize::RetryBudget budget;                     // one per dependency
//   auto image = genscope::optimize::retry<Image>(
//       {.attempts = 3}, [&](const Attempt&) -> Tried<Image> { return worker.generate(prompt); },
//       {.deadline_ns = deadline, .budget = &budget});
//   if (!image.ok()) log(image.failure().message);
//
//   genscope::optimize::Breaker breaker({.name = "upscaler"});  // stops calls that would fail
//   if (const auto pass = breaker.ask()) breaker.tell(*pass, call(), seconds);
//
// Place in the flow: the optimizer's own. Every decision gets the time and its random number as
// arguments; `retry` and the overloads without a time ask CLOCK_MONOTONIC.
//
// Times are nanoseconds of CLOCK_MONOTONIC, or of any clock that never goes back if all calls
// agree. Options are in seconds.
//
// Threads: RetryBudget, Breaker and Hedge are shared by all threads; a RetryRun has one owner.
//
// Counters of a run while one is recorded, from the option `name`: `NAME/retries`,
// `NAME/budget_tokens`, `NAME/state` (0 closed, 1 half open, 2 open), `NAME/refused`,
// `NAME/hedges`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <genscope/error.h>

namespace genscope::optimize {

inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

// CLOCK_MONOTONIC.
std::int64_t flow_now_ns() noexcept;

// --- what failed

// Decides what may be done about it.
enum class Failure : std::uint8_t {
  transient,      // I/O, a reset connection: retried
  timeout,        // no answer in time: retried, and charged twice
  throttled,      // told to slow down: retried after the server's hint
  lost_worker,    // the process or node went away: retried
  out_of_memory,  // retried once, after something was evicted
  validation,     // the request is wrong: never
  cancelled,      // the caller left: never
  nan_output,     // the same inputs give the same NaN: never
  deterministic,  // a kernel error that comes again: never
  rejected,       // refused before it began (admission, breaker): the caller's to decide
};
// A stable lower-case name, as used in JSON and Python.
const char* name(Failure failure) noexcept;
std::optional<Failure> failure_named(std::string_view name) noexcept;

struct Failed {
  Failure kind = Failure::transient;
  std::string message = {};
  std::optional<double> retry_after_seconds = {};  // what the server asked for
};

// io is transient; everything else would fail again.
Failed failed(const Error& error);

// A value, or why there is none.
template <class T>
class [[nodiscard]] Tried {
 public:
  Tried(T value) : state_(std::in_place_index<0>, std::move(value)) {}           // NOLINT
  Tried(Failed failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT
  Tried(const Error& error) : state_(std::in_place_index<1>, failed(error)) {}   // NOLINT
  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  T& value() { return *checked(std::get_if<0>(&state_)); }
  const T& value() const { return *checked(std::get_if<0>(&state_)); }
  const Failed& failure() const { return *checked(std::get_if<1>(&state_)); }

 private:
  template <class P>
  static P* checked(P* p) {
    if (p == nullptr) __builtin_trap();
    return p;
  }
  std::variant<T, Failed> state_;
};

// --- retries

inline constexpr int kMostAttempts = 5;

struct RetryPolicy {
  std::string name = "retry";  // of its counters
  int attempts = 3;            // the first one included; from 1 to kMostAttempts
  // The wait before retry n (from 0) is random in [0, min(cap, base * 2^n)]: full jitter, so that
  // clients that failed together do not come back together.
  double base_seconds = 0.1;
  double cap_seconds = 20;
  // A retry is not begun with less than this left until the deadline. 0: as long as any is left.
  double least_seconds = 0;
  // Each attempt should end after this; see Attempt::deadline_ns. 0: the deadline alone.
  double attempt_seconds = 0;
};

// Throttled: the hint, or half of the exponential step if that is more, is a floor, and jitter
// comes on top. Else full jitter. `uniform` is in [0, 1).
std::int64_t backoff_ns(const RetryPolicy& policy, int retry_index, Failure failure,
                        std::optional<double> hint_seconds, double uniform) noexcept;

struct RetryBudgetOptions {
  double tokens = 8;           // at the start, and the most
  double success_earns = 0.1;  // a success
  double failure_costs = 1;    // a failure; a timeout costs twice
};

// Tokens for one dependency, shared by all that call it. Retries stop while at most half are left:
// then each call is tried once, and the load on a dependency that is down is that of no retries.
// Never negative, never above `tokens`.
class RetryBudget {
 public:
  explicit RetryBudget(RetryBudgetOptions options = {});
  ~RetryBudget();
  RetryBudget(const RetryBudget&) = delete;
  RetryBudget& operator=(const RetryBudget&) = delete;

  void succeeded() noexcept;
  void failed(Failure failure) noexcept;
  bool may_retry() const noexcept;
  double tokens() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class RetryStop : std::uint8_t { none, success, kind, attempts, deadline, budget, cancelled };
const char* name(RetryStop stop) noexcept;

struct RetryNext {
  bool again = false;
  std::int64_t wait_ns = 0;  // before the next attempt
  bool evict_first = false;  // free memory before the next attempt
  RetryStop stop = RetryStop::none;
};

// The decisions of one call: for coroutines, event loops and tests. `retry` is a loop around it.
class RetryRun {
 public:
  explicit RetryRun(RetryPolicy policy, std::int64_t deadline_ns = kNoDeadline,
                    RetryBudget* budget = nullptr);
  void succeeded() noexcept;
  RetryNext failed(const Failed& failure, std::int64_t now_ns, double uniform) noexcept;
  int attempt() const noexcept { return attempt_; }  // from 1
  // When the attempt that begins now should end.
  std::int64_t attempt_deadline_ns(std::int64_t now_ns) const noexcept;
  const RetryPolicy& policy() const noexcept { return policy_; }
  const RetryBudget* budget() const noexcept { return budget_; }

 private:
  RetryPolicy policy_;
  std::int64_t deadline_ns_;
  RetryBudget* budget_;
  int attempt_ = 1;
  bool evicted_ = false;
};

// What an operation is told; pass `number` on to the server, so that only one layer retries.
struct Attempt {
  int number = 1;
  std::int64_t deadline_ns = kNoDeadline;
};

struct RetryCall {
  std::int64_t deadline_ns = kNoDeadline;
  RetryBudget* budget = nullptr;
  std::stop_token stop = {};  // ends a wait at once
  std::function<void()> evict =
      {};  // called before the one retry after out_of_memory; none: no retry
  // For tests. `wait` gives false if it was stopped.
  std::function<std::int64_t()> now_ns = {};
  std::function<bool(std::int64_t wait_ns)> wait = {};
  std::function<double()> uniform = {};
};

namespace internal {
std::int64_t now_of(const RetryCall& call);
// For loops of one's own: the counters of the run.
void count_retry(const RetryRun& run, const RetryNext& next);
// Counts the failure, waits and evicts as decided; false: give up, for the reason that `failure`
// then tells, too.
bool try_again(RetryRun& run, const RetryCall& call, Failed& failure);
}  // namespace internal

// Calls `operation(const Attempt&)`, which gives Tried<T>, until it succeeds or may not be tried
// again. Blocks. The last failure says how many attempts there were and why they ended.
template <class T, class Operation>
Tried<T> retry(RetryPolicy policy, Operation&& operation, const RetryCall& call = {}) {
  RetryRun run(std::move(policy), call.deadline_ns, call.budget);
  for (;;) {
    const std::int64_t now = internal::now_of(call);
    Tried<T> tried = operation(Attempt{run.attempt(), run.attempt_deadline_ns(now)});
    if (tried.ok()) {
      run.succeeded();
      return tried;
    }
    Failed failure = tried.failure();
    if (!internal::try_again(run, call, failure)) return failure;
  }
}

// --- breaker

enum class BreakerState : std::uint8_t { closed = 0, half_open = 1, open = 2 };
const char* name(BreakerState state) noexcept;

struct BreakerOptions {
  std::string name = "breaker";
  std::size_t window = 100;       // last calls that the shares are of
  std::size_t least_calls = 20;   // before it may open
  double failure_ratio = 0.5;     // opens at this share of failures,
  double slow_ratio = 0.5;        // or at this share of slow calls
  double slow_seconds = 0;        // what a slow call is; 0: none is
  int probes = 5;                 // calls let through when half open
  double open_seconds = 5;        // how long it stays open; doubles each time the probes fail,
  double open_most_seconds = 60;  // up to this
};

// Stops calls to a dependency that fails, and looks now and then whether it has come back.
class Breaker {
 public:
  // What a call that was let through brings back with its outcome. One outcome for each pass; a
  // pass whose call never ended is forgotten after the open time.
  struct Pass {
    std::uint64_t round = 0;
  };

  explicit Breaker(BreakerOptions options = {});
  ~Breaker();
  Breaker(const Breaker&) = delete;
  Breaker& operator=(const Breaker&) = delete;

  std::optional<Pass> ask(std::int64_t now_ns);  // none: refused
  std::optional<Pass> ask() { return ask(flow_now_ns()); }
  void tell(Pass pass, bool ok, double seconds, std::int64_t now_ns);
  void tell(Pass pass, bool ok, double seconds) { tell(pass, ok, seconds, flow_now_ns()); }

  BreakerState state(std::int64_t now_ns) const;
  BreakerState state() const { return state(flow_now_ns()); }
  // When a refused call may be tried again; 0 while calls are let through.
  double retry_after_seconds(std::int64_t now_ns) const;
  std::uint64_t refused() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// --- hedging

struct HedgeOptions {
  std::string name = "hedge";
  double quantile = 0.95;     // a second copy starts when the first took longer than this share
  double extra_ratio = 0.05;  // copies, of all calls, at most
  std::size_t burst = 10;     // copies that may be saved up
};

// When to start a second copy of a slow call, and where: never on the device of the first one,
// never more than two copies. For calls that are short and idempotent (an encoder, a cache, a
// safety check), not for whole generations.
class Hedge {
 public:
  explicit Hedge(HedgeOptions options = {});
  ~Hedge();  // waits for losers of run()
  Hedge(const Hedge&) = delete;
  Hedge& operator=(const Hedge&) = delete;

  // A call begins; how long to wait for it before its copy starts. None: not known yet.
  std::optional<std::int64_t> begin();
  // Asked when that time has passed: the device of the copy, or none (no other device, or the load
  // would be too high).
  std::optional<std::size_t> copy(std::size_t devices, std::size_t used);
  void finished(double seconds);  // of the copy that answered first
  std::uint64_t calls() const;
  std::uint64_t copies() const;

  // Runs `body(device, stop)` on `first`, and on another device if it is slow; the first success
  // wins, and the other is asked to stop. Blocks the caller, not for the loser.
  template <class T>
  Tried<T> run(std::size_t devices, std::size_t first,
               std::function<Tried<T>(std::size_t device, std::stop_token stop)> body) {
    auto winner = std::make_shared<std::optional<Tried<T>>>();
    run_erased(devices, first,
               [winner, body = std::move(body)](std::size_t device, std::stop_token stop) {
                 auto tried = std::make_shared<Tried<T>>(body(device, stop));
                 return Copy{tried->ok(), [winner, tried] { winner->emplace(std::move(*tried)); }};
               });
    return std::move(**winner);
  }

 private:
  struct Copy {
    bool ok = false;
    std::function<void()> take;  // called for one copy alone
  };
  void run_erased(std::size_t devices, std::size_t first,
                  std::function<Copy(std::size_t, std::stop_token)> body);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace genscope::optimize
