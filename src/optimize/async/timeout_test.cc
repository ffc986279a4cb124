#include <genscope/optimize/async.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

using namespace std::chrono_literals;

Task<int> quick(int n) { co_return n; }

TEST(WithTimeout, GivesTheValueOfABodyInTime) {
  VirtualClock clock;
  Timers timers(clock);
  const auto body = []() -> Task<int> { co_return co_await with_timeout(1ms, quick(4)); };
  EXPECT_EQ(sync_wait(body(), Context::root({.timers = &timers})), 4);
  EXPECT_EQ(timers.armed(), 0u);
}

TEST(WithTimeout, CarriesTheBodysException) {
  const auto broken = []() -> Task<int> {
    throw std::runtime_error("broken");
    co_return 1;
  };
  const auto body = [](auto make) -> Task<int> { co_return co_await with_timeout(1h, make()); };
  EXPECT_THROW(sync_wait(body(broken)), std::runtime_error);
}

TEST(WithTimeout, AnswersAtOnceAndHoldsThePermitUntilTheBodyReturned) {
  VirtualClock clock;
  Timers timers(clock);
  Lane lane("cuda:0");
  Pool pool(1);
  std::atomic<bool> started{false}, go{false}, answered{false};
  const auto kernel = [](Lane* on, std::atomic<bool>* began, std::atomic<bool>* may) -> Task<void> {
    co_await on->run([began, may] {
      *began = true;
      while (!*may) std::this_thread::yield();
    });
  };
  const auto caller = [](auto make, Lane* on, std::atomic<bool>* began, std::atomic<bool>* may,
                         std::atomic<bool>* told) -> Task<void> {
    try {
      co_await with_timeout(5ms, make(on, began, may));
    } catch (const Timeout&) {
      *told = true;
    }
  };
  Scope scope(pool, Context::root({.timers = &timers}));
  scope.spawn(caller(kernel, &lane, &started, &go, &answered), "caller");
  while (!started) std::this_thread::yield();
  clock.move_ns(5'000'000);
  timers.advance();
  while (!answered) std::this_thread::yield();
  // The caller has its answer, and the body still runs: the lane is taken, the scope not empty.
  EXPECT_FALSE(go);
  EXPECT_EQ(lane.limiter().stats().in_use, 1);
  EXPECT_EQ(lane.limiter().try_acquire().outcome, WaitResult::rejected);
  while (scope.size() > 1) std::this_thread::yield();  // the caller's own end
  ASSERT_EQ(scope.size(), 1u);
  EXPECT_EQ(scope.live()[0].lane, "cuda:0");
  go = true;
  scope.wait();
  EXPECT_EQ(lane.limiter().stats().in_use, 0);
}

TEST(WithTimeout, StopsABodyThatWaits) {
  VirtualClock clock;
  Timers timers(clock);
  Pool pool(1);
  std::atomic<int> ends{0};
  const auto waiting = [](std::atomic<int>* into) -> Task<void> {
    try {
      co_await sleep_for(1h);
    } catch (const Stopped&) {
      *into += 1;
      throw;
    }
  };
  const auto caller = [](auto make, std::atomic<int>* into) -> Task<void> {
    try {
      co_await with_timeout(5ms, make(into));
    } catch (const Timeout&) {
      *into += 10;
    }
  };
  Scope scope(pool, Context::root({.timers = &timers}));
  scope.spawn(caller(waiting, &ends));
  while (timers.armed() < 2) std::this_thread::yield();
  clock.move_ns(5'000'000);
  timers.advance();
  scope.wait();
  EXPECT_EQ(ends, 11);
}

TEST(WithTimeout, Nests) {
  VirtualClock clock;
  Timers timers(clock);
  Pool pool(1);
  std::atomic<int> ends{0};
  const auto sleeper = []() -> Task<void> { co_await sleep_for(1h); };
  const auto inner = [](auto make, std::atomic<int>* into) -> Task<void> {
    try {
      co_await with_timeout(20ms, make());
    } catch (const Stopped& stopped) {
      *into += stopped.why() == WaitResult::timeout ? 1 : 2;
      throw;
    }
  };
  const auto outer = [](auto make, auto innermost, std::atomic<int>* into) -> Task<void> {
    try {
      co_await with_timeout(10ms, make(innermost, into));
    } catch (const Timeout&) {
      *into += 10;
    }
  };
  Scope scope(pool, Context::root({.timers = &timers}));
  scope.spawn(outer(inner, sleeper, &ends));
  while (timers.armed() < 3) std::this_thread::yield();
  clock.move_ns(30'000'000);
  timers.advance();
  scope.wait();
  EXPECT_GE(ends, 11);
  EXPECT_LE(ends, 12);
  EXPECT_EQ(timers.armed(), 0u);
}

TEST(Sleep, EndsOnTimeOrWhenStoppedOrAtTheDeadline) {
  VirtualClock clock;
  Timers timers(clock);
  Pool pool(1);
  const auto sleeper = [](std::atomic<int>* into) -> Task<void> {
    try {
      co_await sleep_for(10ms);
      *into = 1;
    } catch (const Stopped& stopped) {
      *into = stopped.why() == WaitResult::timeout ? 2 : 3;
    }
  };
  std::atomic<int> a{0}, b{0}, c{0};
  const Context root = Context::root({.timers = &timers}), stopped = root.child();
  Scope scope(pool, root);
  scope.spawn(sleeper(&a), "a");
  scope.spawn(sleeper(&b), "b", root.child({.timeout = 5ms}));
  scope.spawn(sleeper(&c), "c", stopped);
  while (timers.armed() < 3) std::this_thread::yield();
  stopped.request_stop();
  clock.move_ns(10'000'000);
  timers.advance();
  scope.wait();
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
  EXPECT_EQ(c, 3);
}

}  // namespace
}  // namespace genscope::optimize
