// Retries that cannot make an outage worse.
//
// Three bounds hold at once. Attempts: at most five. Time: a retry whose wait would end past the
// deadline is not begun, so the sum of all waits is below it. Load: a bucket of tokens that only
// successes fill. A failure takes a token and retries stop while at most half are left, so during
// an outage a budget of n tokens pays for fewer than n / 2 retries in all, however many calls fail.
//
// Full jitter spreads clients that failed together evenly over the step. A throttled client must
// not come back before the server's hint, so there jitter is added to a floor; a tenth of the floor
// at least, since clients that got the same hint would else come back together.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>

#include <genscope/optimize/retry.h>

#include "optimize/flow/counters.h"

namespace genscope::optimize {

std::int64_t backoff_ns(const RetryPolicy& policy, int retry_index, Failure failure,
                        std::optional<double> hint_seconds, double uniform) noexcept {
  const double base = std::max(0.0, policy.base_seconds);
  const double step =
      std::min(std::max(0.0, policy.cap_seconds),
               base * static_cast<double>(std::uint64_t{1} << std::clamp(retry_index, 0, 40)));
  if (failure == Failure::out_of_memory) return 0;  // the eviction was the wait
  if (failure == Failure::throttled || hint_seconds) {
    const double floor = std::max(std::max(0.0, hint_seconds.value_or(0)), step / 2);
    return seconds_to_ns(floor + uniform * std::max(step / 2, floor / 10));
  }
  return seconds_to_ns(uniform * step);
}

// --- budget

struct RetryBudget::State {
  RetryBudgetOptions options;
  mutable std::mutex mutex;
  double tokens;
};

RetryBudget::RetryBudget(RetryBudgetOptions options) : state_(std::make_unique<State>()) {
  options.tokens = std::max(0.0, options.tokens);
  state_->options = options;
  state_->tokens = options.tokens;
}
RetryBudget::~RetryBudget() = default;

void RetryBudget::succeeded() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->tokens = std::min(state_->options.tokens, state_->tokens + state_->options.success_earns);
}

void RetryBudget::failed(Failure failure) noexcept {
  const std::lock_guard lock(state_->mutex);
  const double cost = state_->options.failure_costs * (failure == Failure::timeout ? 2 : 1);
  state_->tokens = std::max(0.0, state_->tokens - cost);
}

bool RetryBudget::may_retry() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->tokens > state_->options.tokens / 2;
}

double RetryBudget::tokens() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->tokens;
}

// --- decisions

const char* name(RetryStop stop) noexcept {
  switch (stop) {
    case RetryStop::none:
      return "none";
    case RetryStop::success:
      return "success";
    case RetryStop::kind:
      return "kind";
    case RetryStop::attempts:
      return "attempts";
    case RetryStop::deadline:
      return "deadline";
    case RetryStop::budget:
      return "budget";
    case RetryStop::cancelled:
      return "cancelled";
  }
  return "unknown";
}

namespace {

// Whether the dependency is to blame: what the caller did wrong costs no token.
bool is_dependencys(Failure failure) noexcept {
  switch (failure) {
    case Failure::transient:
    case Failure::timeout:
    case Failure::throttled:
    case Failure::lost_worker:
      return true;
    default:
      return false;
  }
}

}  // namespace

RetryRun::RetryRun(RetryPolicy policy, std::int64_t deadline_ns, RetryBudget* budget)
    : policy_(std::move(policy)), deadline_ns_(deadline_ns), budget_(budget) {
  policy_.attempts = std::clamp(policy_.attempts, 1, kMostAttempts);
}

void RetryRun::succeeded() noexcept {
  if (budget_ != nullptr) budget_->succeeded();
}

RetryNext RetryRun::failed(const Failed& failure, std::int64_t now_ns, double uniform) noexcept {
  RetryNext next;
  const auto stop = [&next](RetryStop why) {
    next.stop = why;
    return next;
  };
  const bool dependencys = is_dependencys(failure.kind);
  const bool memory = failure.kind == Failure::out_of_memory;
  if (dependencys && budget_ != nullptr) budget_->failed(failure.kind);
  if (failure.kind == Failure::cancelled) return stop(RetryStop::cancelled);
  if ((!dependencys && !memory) || (memory && evicted_)) return stop(RetryStop::kind);
  if (attempt_ >= policy_.attempts) return stop(RetryStop::attempts);
  if (dependencys && budget_ != nullptr && !budget_->may_retry()) return stop(RetryStop::budget);
  next.wait_ns =
      backoff_ns(policy_, attempt_ - 1, failure.kind, failure.retry_after_seconds, uniform);
  const std::int64_t least = std::max<std::int64_t>(1, seconds_to_ns(policy_.least_seconds));
  if (deadline_ns_ != kNoDeadline && later(later(now_ns, next.wait_ns), least) > deadline_ns_) {
    next.wait_ns = 0;
    return stop(RetryStop::deadline);
  }
  next.again = true;
  next.evict_first = memory;
  evicted_ = evicted_ || memory;
  ++attempt_;
  return next;
}

std::int64_t RetryRun::attempt_deadline_ns(std::int64_t now_ns) const noexcept {
  if (!(policy_.attempt_seconds > 0)) return deadline_ns_;
  return std::min(deadline_ns_, later(now_ns, seconds_to_ns(policy_.attempt_seconds)));
}

// --- the loop's other half

namespace {

double own_uniform() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

bool wait_or_stop(std::int64_t wait_ns, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, std::chrono::nanoseconds(wait_ns), [] { return false; });
  return !stop.stop_requested();
}

// Retries of this process by the name of their policy. Never freed: calls may outlive main().
double total_retries(const std::string& policy) {
  static std::mutex& mutex = *new std::mutex;
  static std::map<std::string, double>& totals = *new std::map<std::string, double>;
  const std::lock_guard lock(mutex);
  return ++totals[policy];
}

void add_story(Failed& failure, const RetryRun& run, RetryStop why) {
  if (run.attempt() == 1 && why != RetryStop::deadline && why != RetryStop::budget) return;
  static constexpr const char* kWhy[] = {
      "",
      "",
      "this kind of failure is not tried again",
      "no attempts are left",
      "the deadline leaves no time for another",
      "the budget for retries is spent, so the dependency is probably down",
      "it was cancelled"};
  failure.message += " (after " + std::to_string(run.attempt()) +
                     (run.attempt() == 1 ? " attempt; " : " attempts; ") +
                     kWhy[static_cast<std::size_t>(why)] + ")";
}

}  // namespace

namespace internal {

std::int64_t now_of(const RetryCall& call) { return call.now_ns ? call.now_ns() : flow_now_ns(); }

void count_retry(const RetryRun& run, const RetryNext& next) {
  if (run.budget() != nullptr) {
    FlowCounter(run.policy().name, "budget_tokens").set(run.budget()->tokens());
  }
  if (next.again) FlowCounter(run.policy().name, "retries").set(total_retries(run.policy().name));
}

bool try_again(RetryRun& run, const RetryCall& call, Failed& failure) {
  const double uniform = call.uniform ? call.uniform() : own_uniform();
  RetryNext next = run.failed(failure, now_of(call), uniform);
  if (next.evict_first && !call.evict) next = {false, 0, false, RetryStop::kind};
  count_retry(run, next);
  if (!next.again) {
    add_story(failure, run, next.stop);
    return false;
  }
  if (next.evict_first) call.evict();
  const bool waited = call.wait          ? call.wait(next.wait_ns)
                      : next.wait_ns > 0 ? wait_or_stop(next.wait_ns, call.stop)
                                         : !call.stop.stop_requested();
  if (!waited) {
    failure.message += " (cancelled while it waited to try again)";
    failure.kind = Failure::cancelled;
    return false;
  }
  return true;
}

}  // namespace internal
}  // namespace genscope::optimize
