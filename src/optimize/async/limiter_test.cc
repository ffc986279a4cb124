#include <genscope/optimize/async.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

using namespace std::chrono_literals;

struct Grants {
  Limiter::Callback noting(const std::string& name) {
    return [this, name](WaitResult outcome, Permit permit) {
      log += name + (outcome == WaitResult::ok ? "" : std::string("!") + optimize::name(outcome)) +
             " ";
      if (outcome == WaitResult::ok) held.push_back(std::move(permit));
    };
  }
  // A callback may add to `held` meanwhile.
  void release() {
    const Permit first = std::move(held.front());
    held.erase(held.begin());
  }
  void release_all() {
    while (!held.empty()) release();
  }
  std::string log;
  std::vector<Permit> held;
};

TEST(Limiter, GrantsWhileThereIsRoomAndThenInOrder) {
  Limiter limiter(2);
  Grants grants;
  for (const char* const name : {"a", "b", "c", "d"}) {
    limiter.acquire(Context(), {}, grants.noting(name));
  }
  EXPECT_EQ(grants.log, "a b ");
  EXPECT_EQ(limiter.stats().waiting, 2u);
  grants.release();
  EXPECT_EQ(grants.log, "a b c ");
  grants.release_all();
  EXPECT_EQ(grants.log, "a b c d ");
  EXPECT_EQ(limiter.stats().granted, 4u);
}

TEST(Limiter, NobodyOvertakesALargeRequestThatIsNext) {
  Limiter limiter(4);
  Grants grants;
  limiter.acquire(Context(), {3}, grants.noting("a"));
  limiter.acquire(Context(), {4}, grants.noting("large"));
  limiter.acquire(Context(), {1}, grants.noting("small"));
  EXPECT_EQ(grants.log, "a ");
  grants.release();
  EXPECT_EQ(grants.log, "a large ");
  grants.release();
  EXPECT_EQ(grants.log, "a large small ");
}

TEST(Limiter, RejectsWhatNeverFitsAndWhatTheQueueHasNoRoomFor) {
  Limiter limiter(2, {.max_waiting = 1});
  Grants grants;
  limiter.acquire(Context(), {3}, grants.noting("huge"));
  limiter.acquire(Context(), {2}, grants.noting("a"));
  limiter.acquire(Context(), {1}, grants.noting("b"));
  limiter.acquire(Context(), {1}, grants.noting("c"));
  EXPECT_EQ(grants.log, "huge!rejected a c!rejected ");
  EXPECT_EQ(limiter.try_acquire().outcome, WaitResult::rejected);
  grants.release_all();
}

TEST(Limiter, AStoppedWaiterLeavesAndMakesRoomForASmallerOne) {
  Limiter limiter(4);
  Grants grants;
  const Context first;
  limiter.acquire(Context(), {3}, grants.noting("a"));
  limiter.acquire(first, {4}, grants.noting("large"));
  limiter.acquire(Context(), {1}, grants.noting("small"));
  first.request_stop();
  EXPECT_EQ(grants.log, "a large!cancelled small ");
  limiter.acquire(first, {1}, grants.noting("late"));
  EXPECT_EQ(grants.log, "a large!cancelled small late!cancelled ");
  EXPECT_EQ(limiter.stats().in_use, 4);
}

TEST(Limiter, AWaiterLeavesAtItsDeadline) {
  VirtualClock clock;
  Timers timers(clock);
  Limiter limiter(1);
  Grants grants;
  limiter.acquire(Context(), {}, grants.noting("a"));
  limiter.acquire(Context::root({.timeout = 5ms, .timers = &timers}), {}, grants.noting("b"));
  clock.move_ns(5'000'000);
  timers.advance();
  EXPECT_EQ(grants.log, "a b!timeout ");
  EXPECT_EQ(limiter.stats().timed_out, 1u);
  grants.release_all();
  EXPECT_EQ(limiter.stats().in_use, 0);
}

TEST(Limiter, MoreCapacityWakesWaiters) {
  Limiter limiter(1);
  Grants grants;
  for (const char* const name : {"a", "b", "c"}) {
    limiter.acquire(Context(), {}, grants.noting(name));
  }
  limiter.set_capacity(3);
  EXPECT_EQ(grants.log, "a b c ");
}

TEST(Limiter, APermitOutlivesItsLimiter) {
  std::optional<Limiter> limiter(std::in_place, 1);
  Permit permit = limiter->try_acquire().value;
  EXPECT_TRUE(static_cast<bool>(permit));
  limiter.reset();
}

TEST(Limiter, TasksWaitTheirTurn) {
  Pool pool(2);
  Limiter limiter(2);
  std::atomic<int> now{0}, most{0}, done{0};
  const auto body = [](Limiter* at, std::atomic<int>* in, std::atomic<int>* peak,
                       std::atomic<int>* ended, Pool* on) -> Task<void> {
    Permit permit = co_await at->acquire();
    const int running = ++*in;
    int seen = *peak;
    while (running > seen && !peak->compare_exchange_weak(seen, running)) {
    }
    co_await on->schedule();
    --*in;
    ++*ended;
  };
  Scope scope(pool);
  for (int i = 0; i < 200; ++i) scope.spawn(body(&limiter, &now, &most, &done, &pool));
  scope.wait();
  EXPECT_EQ(done, 200);
  EXPECT_LE(most, 2);
  EXPECT_EQ(limiter.stats().in_use, 0);
}

TEST(Limiter, ThreadsWaitWithoutATask) {
  Limiter limiter(1);
  std::atomic<int> now{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const Acquired got = limiter.acquire_blocking(Context());
        EXPECT_EQ(++now, 1);
        --now;
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 200);
}

TEST(Lane, RunsOneBodyAtATimeInOrderOfPriority) {
  Lane lane("cuda:0");
  std::string order;
  std::atomic<bool> go{false};
  lane.post(Context(), [&] {
    while (!go) std::this_thread::yield();
  });
  for (int priority = -1; priority <= 1; ++priority) {
    lane.post(Context::root({.priority = priority}),
              [&order, priority] { order += std::to_string(priority) + " "; });
  }
  go = true;
  EXPECT_EQ(lane.run_blocking(Context::root({.priority = -4}), [&] { order += "end"; }),
            WaitResult::ok);
  EXPECT_EQ(order, "1 0 -1 end");
  EXPECT_EQ(lane.stats().finished, 5u);
}

TEST(Lane, DropsWhatWaitsAndKeepsWhatRuns) {
  Lane lane("cuda:0");
  const Context context;
  std::atomic<bool> go{false}, started{false}, ran{false}, second{false};
  std::atomic<int> outcomes{0};
  lane.post(
      context,
      [&] {
        started = true;
        while (!go) std::this_thread::yield();
        ran = true;
      },
      [&](WaitResult outcome) { outcomes += outcome == WaitResult::ok ? 1 : 100; });
  while (!started) std::this_thread::yield();
  lane.post(
      context, [&] { second = true; },
      [&](WaitResult outcome) { outcomes += outcome == WaitResult::cancelled ? 10 : 100; });
  context.request_stop();
  EXPECT_EQ(outcomes, 10);  // at once
  EXPECT_EQ(lane.limiter().stats().in_use, 1);
  go = true;
  lane.run_blocking(Context(), [] {});
  EXPECT_TRUE(ran);
  EXPECT_FALSE(second);
  EXPECT_EQ(outcomes, 11);
}

TEST(Lane, GivesATaskTheValueAndTheExceptionOfItsFunction) {
  Lane lane("cuda:0");
  Pool pool(1);
  const auto body = [](Lane* on, Pool* home) -> Task<std::string> {
    co_await home->schedule();
    const std::string text = co_await on->run([] { return std::string("value"); });
    try {
      co_await on->run([] { throw std::runtime_error(" and error"); });
    } catch (const std::runtime_error& error) {
      co_return text + error.what() + (current_executor() == home ? " at home" : " elsewhere");
    }
    co_return text;
  };
  EXPECT_EQ(sync_wait(body(&lane, &pool)), "value and error at home");
}

TEST(Lane, SeveralBodiesWithWidth) {
  Lane lane("cpu", {.width = 2});
  std::atomic<int> inside{0};
  // Each waits until both are there: with one at a time this would never end.
  const auto both = [&] {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  };
  std::thread other([&] { lane.run_blocking(Context(), both); });
  lane.run_blocking(Context(), both);
  other.join();
  EXPECT_EQ(inside, 2);
}

TEST(Lane, EnterHoldsTheLaneForATask) {
  Lane lane("cuda:0");
  const auto body = [](Lane* on) -> Task<bool> {
    Permit held = co_await on->enter();
    co_return on->limiter().try_acquire().outcome == WaitResult::rejected;
  };
  EXPECT_TRUE(sync_wait(body(&lane)));
  EXPECT_EQ(lane.limiter().stats().in_use, 0);
}

}  // namespace
}  // namespace genscope::optimize
