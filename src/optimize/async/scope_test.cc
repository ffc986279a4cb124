#include <genscope/optimize/async.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

using namespace std::chrono_literals;

Task<void> count_up(std::atomic<int>* counter) {
  ++*counter;
  co_return;
}
Task<void> throwing(const char* text) {
  throw std::runtime_error(text);
  co_return;
}
Task<void> until_stopped(std::atomic<int>* stopped) {
  try {
    co_await sleep_for(1h);
  } catch (const Cancelled&) {
    ++*stopped;
    throw;
  }
}

TEST(Scope, WaitsForAllItsTasks) {
  Pool pool(2);
  std::atomic<int> counter{0};
  Scope scope(pool);
  for (int i = 0; i < 1000; ++i) scope.spawn(count_up(&counter));
  scope.wait();
  EXPECT_EQ(counter, 1000);
  EXPECT_EQ(scope.size(), 0u);
}

TEST(Scope, FirstErrorStopsTheSiblingsAndComesOut) {
  Pool pool(2);
  std::atomic<int> stopped{0};
  const auto body = [](Pool* on, std::atomic<int>* into) -> Task<void> {
    Scope scope(*on, co_await current_context());
    for (int i = 0; i < 5; ++i) scope.spawn(until_stopped(into));
    scope.spawn(throwing("first"));
    co_await scope.join();
  };
  try {
    sync_wait(body(&pool, &stopped));
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_EQ(stopped, 5);
}

TEST(Scope, CollectsAllErrorsIfToldTo) {
  Pool pool(2);
  std::atomic<int> counter{0};
  Scope scope(pool, {}, {OnError::collect_all});
  scope.spawn(throwing("a"), "one");
  scope.spawn(throwing("b"), "two");
  scope.spawn(count_up(&counter));
  scope.wait();
  EXPECT_EQ(counter, 1);
  std::vector<std::string> names;
  for (const TaskError& error : scope.errors()) names.push_back(error.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two"}));
  EXPECT_FALSE(scope.context().stop_requested());
}

TEST(Scope, DestructorStopsAndWaits) {
  Pool pool(1);
  std::atomic<int> stopped{0};
  {
    Scope scope(pool);
    scope.spawn(until_stopped(&stopped));
  }
  // Stopped before it slept or while it did: ended in any case.
  EXPECT_EQ(stopped, 1);
}

TEST(Scope, CloseNamesTheStragglers) {
  VirtualClock clock;
  Timers timers(clock);
  Pool pool(1);
  const Context context = Context::root({.priority = 2, .tenant = "acme", .timers = &timers});
  std::atomic<int> stopped{0};
  Scope scope(pool, context);
  scope.spawn(until_stopped(&stopped), "slow");
  std::vector<LiveTask> left;
  std::thread closer([&] { left = scope.close_blocking(100ms); });
  while (timers.armed() < 2 || scope.live()[0].await_line == 0) std::this_thread::yield();
  clock.move_ns(100'000'000);
  timers.advance();
  closer.join();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "slow");
  EXPECT_EQ(left[0].tenant, "acme");
  EXPECT_EQ(left[0].priority, 2);
  EXPECT_EQ(left[0].age_ns, 100'000'000);
  EXPECT_NE(left[0].await_file.find("scope_test.cc"), std::string::npos);
  EXPECT_GT(left[0].await_line, 20);
  EXPECT_LT(left[0].await_line, 40);
  EXPECT_FALSE(scope.spawn(until_stopped(&stopped)));
  scope.wait();
  EXPECT_EQ(stopped, 1);
}

TEST(Scope, CloseFromATaskGivesNobodyWhenAllEndInTime) {
  Pool pool(2);
  std::atomic<int> counter{0};
  const auto body = [](Pool* on, std::atomic<int>* into) -> Task<std::size_t> {
    Scope scope(*on, co_await current_context());
    for (int i = 0; i < 10; ++i) scope.spawn(count_up(into));
    const std::vector<LiveTask> left = co_await scope.close(1h);
    co_return left.size();
  };
  EXPECT_EQ(sync_wait(body(&pool, &counter)), 0u);
  EXPECT_EQ(counter, 10);
}

TEST(LiveTasks, ListsWhatWaitsInEveryScope) {
  Pool pool(1);
  std::atomic<int> stopped{0};
  Scope scope(pool, Context::root({.timeout = 1h}));
  scope.spawn(until_stopped(&stopped), "listed");
  bool found = false;
  while (!found) {
    for (const LiveTask& task : live_tasks()) {
      if (task.name != "listed" || task.await_line == 0) continue;
      found = true;
      ASSERT_TRUE(task.left_ns.has_value());
      EXPECT_GT(*task.left_ns, 0);
    }
  }
}

TEST(Pool, HopsToAWorkerAndBackToTheCaller) {
  Pool pool(2, "workers");
  BlockingPool files(2);
  const auto body = [](Pool* on, BlockingPool* other) -> Task<std::vector<std::string>> {
    std::vector<std::string> seen;
    seen.emplace_back(current_executor()->name());
    co_await on->schedule();
    seen.emplace_back(current_executor()->name());
    co_await other->schedule();
    seen.emplace_back(current_executor()->name());
    co_await on->schedule();
    seen.emplace_back(current_executor()->name());
    co_return seen;
  };
  EXPECT_EQ(sync_wait(body(&pool, &files)),
            (std::vector<std::string>{"caller", "workers", "blocking", "workers"}));
}

TEST(Pool, AnIdleWorkerTakesWhatABusyOneHasQueued) {
  Pool pool(2);
  std::atomic<bool> ran{false};
  std::atomic<bool> done{false};
  post(pool, [&] {
    post(pool, [&] { ran = true; });  // on the queue of this worker, which waits for it
    while (!ran) std::this_thread::yield();
    done = true;
  });
  while (!done) std::this_thread::yield();
  EXPECT_TRUE(ran);
}

TEST(Pool, ManyThreadsSubmitAndNothingIsLost) {
  std::atomic<int> ran{0};
  {
    Pool pool(3);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) post(pool, [&] { ++ran; });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(ran, 2000);
}

TEST(BlockingPool, MakesNoMoreThreadsThanItMay) {
  std::atomic<int> now{0}, most{0}, ran{0};
  {
    BlockingPool pool(3);
    for (int i = 0; i < 50; ++i) {
      post(pool, [&] {
        const int running = ++now;
        int seen = most;
        while (running > seen && !most.compare_exchange_weak(seen, running)) {
        }
        std::this_thread::yield();
        --now;
        ++ran;
      });
    }
  }
  EXPECT_EQ(ran, 50);
  EXPECT_LE(most, 3);
}

}  // namespace
}  // namespace genscope::optimize
