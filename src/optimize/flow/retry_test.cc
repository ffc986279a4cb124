#include <gtest/gtest.h>

#include <genscope/optimize/retry.h>

#include "testing/random.h"

namespace genscope::optimize {
namespace {

constexpr std::int64_t kMs = 1'000'000, kS = 1'000'000'000;

double uniform_of(testing::Random& random) {
  return static_cast<double>(random.next() >> 11) * 0x1.0p-53;
}

// A clock that only waits turn.
struct TurnedClock {
  std::int64_t now = 0;
  std::int64_t waited = 0;
  RetryCall call(std::int64_t deadline_ns, RetryBudget* budget, testing::Random& random) {
    RetryCall out;
    out.deadline_ns = deadline_ns;
    out.budget = budget;
    out.now_ns = [this] { return now; };
    out.wait = [this](std::int64_t ns) {
      now += ns;
      waited += ns;
      return true;
    };
    out.uniform = [&random] { return uniform_of(random); };
    return out;
  }
};

TEST(Failure, NamesGoBothWays) {
  for (int i = 0; i <= static_cast<int>(Failure::rejected); ++i) {
    const auto failure = static_cast<Failure>(i);
    EXPECT_EQ(failure_named(name(failure)), failure);
  }
  EXPECT_FALSE(failure_named("nonsense"));
  EXPECT_EQ(failed(Error{ErrorCode::io, "reset"}).kind, Failure::transient);
  EXPECT_EQ(failed(Error{ErrorCode::bad_data, "no"}).kind, Failure::validation);
}

TEST(Backoff, IsFullJitterUpToTheCap) {
  const RetryPolicy policy{.base_seconds = 0.1, .cap_seconds = 1};
  EXPECT_EQ(backoff_ns(policy, 0, Failure::transient, {}, 0), 0);
  EXPECT_EQ(backoff_ns(policy, 0, Failure::transient, {}, 0.5), 50 * kMs);
  EXPECT_EQ(backoff_ns(policy, 2, Failure::transient, {}, 0.5), 200 * kMs);
  EXPECT_EQ(backoff_ns(policy, 30, Failure::transient, {}, 0.5), 500 * kMs);
}

TEST(Backoff, NeverGoesBelowTheServersHintAndSpreadsAboveIt) {
  const RetryPolicy policy{.base_seconds = 0.1, .cap_seconds = 20};
  EXPECT_GE(backoff_ns(policy, 0, Failure::throttled, 60, 0), 60 * kS);
  EXPECT_GE(backoff_ns(policy, 0, Failure::throttled, 60, 0.99), 65 * kS);
  EXPECT_LE(backoff_ns(policy, 0, Failure::throttled, 60, 0.99), 66 * kS);
  EXPECT_GE(backoff_ns(policy, 3, Failure::throttled, {}, 0), 400 * kMs);  // half of the step
}

TEST(RetryRun, DecidesByTheKindOfFailure) {
  for (const Failure kind : {Failure::transient, Failure::timeout, Failure::throttled,
                             Failure::lost_worker, Failure::out_of_memory}) {
    RetryRun run(RetryPolicy{});
    EXPECT_TRUE(run.failed({kind, "", {}}, 0, 0.5).again) << name(kind);
  }
  for (const Failure kind : {Failure::validation, Failure::cancelled, Failure::nan_output,
                             Failure::deterministic, Failure::rejected}) {
    RetryRun run(RetryPolicy{});
    EXPECT_FALSE(run.failed({kind, "", {}}, 0, 0.5).again) << name(kind);
  }
}

TEST(RetryRun, RetriesOutOfMemoryOnceAfterEviction) {
  RetryRun run(RetryPolicy{.attempts = 5});
  const RetryNext next = run.failed({Failure::out_of_memory, "", {}}, 0, 0.5);
  EXPECT_TRUE(next.again);
  EXPECT_TRUE(next.evict_first);
  EXPECT_EQ(run.failed({Failure::out_of_memory, "", {}}, 0, 0.5).stop, RetryStop::kind);
}

TEST(RetryRun, CapsAttemptsAtFive) {
  RetryRun run(RetryPolicy{.attempts = 100});
  int attempts = 1;
  while (run.failed({Failure::transient, "", {}}, 0, 0.5).again) ++attempts;
  EXPECT_EQ(attempts, kMostAttempts);
}

TEST(RetryRun, LeavesTimeForTheNextAttempt) {
  RetryRun run(RetryPolicy{.base_seconds = 0.1, .least_seconds = 2}, 3 * kS);
  EXPECT_TRUE(run.failed({Failure::transient, "", {}}, 0, 0.5).again);
  EXPECT_EQ(run.failed({Failure::transient, "", {}}, 2 * kS, 0.5).stop, RetryStop::deadline);
  RetryRun timed(RetryPolicy{.attempt_seconds = 1}, 10 * kS);
  EXPECT_EQ(timed.attempt_deadline_ns(5 * kS), 6 * kS);
  EXPECT_EQ(timed.attempt_deadline_ns(9 * kS + 1), 10 * kS);
}

TEST(Retry, GivesTheValueOfTheFirstSuccess) {
  testing::Random random(1);
  TurnedClock clock;
  std::vector<int> numbers;
  const Tried<int> got = retry<int>(
      {.attempts = 4},
      [&](const Attempt& attempt) -> Tried<int> {
        numbers.push_back(attempt.number);
        if (attempt.number < 3) return Failed{Failure::transient, "reset", {}};
        return 7;
      },
      clock.call(kNoDeadline, nullptr, random));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got.value(), 7);
  EXPECT_EQ(numbers, (std::vector<int>{1, 2, 3}));
}

TEST(Retry, TellsWhyItGaveUp) {
  testing::Random random(1);
  TurnedClock clock;
  const auto always = [](const Attempt&) -> Tried<int> {
    return Failed{Failure::transient, "connection reset", {}};
  };
  const Tried<int> got = retry<int>({}, always, clock.call(kNoDeadline, nullptr, random));
  EXPECT_EQ(got.failure().message, "connection reset (after 3 attempts; no attempts are left)");
  RetryBudget spent({.tokens = 2});
  spent.failed(Failure::transient);
  EXPECT_EQ(retry<int>({}, always, clock.call(kNoDeadline, &spent, random)).failure().message,
            "connection reset (after 1 attempt; the budget for retries is spent, so the dependency "
            "is probably down)");
}

TEST(Retry, EvictsBeforeTheOneRetryAfterOutOfMemory) {
  testing::Random random(1);
  TurnedClock clock;
  RetryCall call = clock.call(kNoDeadline, nullptr, random);
  int evicted = 0, tries = 0;
  const auto body = [&](const Attempt&) -> Tried<int> {
    ++tries;
    return Failed{Failure::out_of_memory, "out of memory", {}};
  };
  EXPECT_FALSE(retry<int>({.attempts = 5}, body, call).ok());  // nothing to evict with
  EXPECT_EQ(tries, 1);
  call.evict = [&] { ++evicted; };
  EXPECT_FALSE(retry<int>({.attempts = 5}, body, call).ok());
  EXPECT_EQ(tries, 3);
  EXPECT_EQ(evicted, 1);
  EXPECT_EQ(clock.waited, 0);
}

TEST(Retry, EndsAWaitWhenStopped) {
  std::stop_source stop;
  RetryCall call;
  call.stop = stop.get_token();
  const Tried<int> got = retry<int>(
      {.base_seconds = 1e6, .cap_seconds = 1e6},
      [&](const Attempt&) -> Tried<int> {
        stop.request_stop();
        return Failed{Failure::throttled, "slow down", {}};  // a floor of days
      },
      call);
  EXPECT_EQ(got.failure().kind, Failure::cancelled);
}

// Over random policies, failures, hints and deadlines.
TEST(RetryProperty, TotalWaitStaysWithinTheDeadlineAndTheBudgetIsNeverNegative) {
  testing::Random random(42);
  RetryBudget budget({.tokens = 6});
  for (int round = 0; round < 5000; ++round) {
    TurnedClock clock;
    const std::int64_t deadline = static_cast<std::int64_t>(random.below(20 * kS));
    RetryPolicy policy;
    policy.attempts = 1 + static_cast<int>(random.below(8));
    policy.base_seconds = uniform_of(random) * 5;
    const Tried<int> got = retry<int>(
        policy,
        [&](const Attempt& attempt) -> Tried<int> {
          EXPECT_LE(attempt.number, kMostAttempts);
          EXPECT_LE(clock.now, deadline);
          if (random.one_in(3)) return 1;
          Failed failure{static_cast<Failure>(random.below(10)), "", {}};
          if (random.one_in(4)) failure.retry_after_seconds = uniform_of(random) * 30;
          return failure;
        },
        clock.call(deadline, &budget, random));
    EXPECT_TRUE(got.ok() || clock.waited <= deadline);
    EXPECT_LE(clock.waited, deadline);
    EXPECT_GE(budget.tokens(), 0);
    EXPECT_LE(budget.tokens(), 6);
  }
}

// A dependency is down for 30 s; each of 200 clients, each with a budget of its own, which is the
// worst case, sends a request a second.
TEST(RetryProperty, AnOutageAddsAtMostATenthOfLoad) {
  testing::Random random(9);
  double requests = 0, attempts = 0;
  for (int client = 0; client < 200; ++client) {
    RetryBudget budget;
    for (int i = 0; i < 100; ++i) budget.succeeded();
    for (int second = 0; second < 30; ++second) {
      RetryRun run(RetryPolicy{}, kNoDeadline, &budget);
      ++requests;
      do ++attempts;
      while (run.failed({Failure::transient, "", {}}, second * kS, uniform_of(random)).again);
    }
  }
  EXPECT_LE(attempts / requests, 1.10);
  EXPECT_GT(attempts / requests, 1.0);  // some retries there are
}

TEST(RetryProperty, ClientsThatFailedTogetherComeBackApart) {
  testing::Random random(4);
  std::vector<int> by_slot(20);
  for (int client = 0; client < 2000; ++client) {
    RetryRun run(RetryPolicy{.base_seconds = 1});
    const RetryNext next = run.failed({Failure::lost_worker, "", {}}, 0, uniform_of(random));
    ++by_slot[static_cast<std::size_t>(next.wait_ns / (kS / 20))];
  }
  for (const int count : by_slot) EXPECT_LT(count, 150);  // 100 each, on average
}

}  // namespace
}  // namespace genscope::optimize
