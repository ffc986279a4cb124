#include <genscope/internal/optimize/async/context.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

using namespace std::chrono_literals;

TEST(Context, ChildHasTheEarlierDeadline) {
  VirtualClock clock;
  Timers timers(clock);
  const Context parent = Context::root({.timeout = 10s, .timers = &timers});
  EXPECT_EQ(parent.left_ns(), 10'000'000'000);
  EXPECT_EQ(parent.child({.timeout = 3s}).left_ns(), 3'000'000'000);
  EXPECT_EQ(parent.child({.timeout = 30s}).left_ns(), 10'000'000'000);
  EXPECT_EQ(parent.child({.deadline_ns = clock.now_ns() + 5}).left_ns(), 5);
  EXPECT_EQ(Context().left_ns(), kNever);
  clock.move_ns(10'000'000'000);
  EXPECT_EQ(parent.check(), WaitResult::timeout);
  EXPECT_THROW(parent.checkpoint(), Timeout);
}

TEST(Context, ChildInheritsWhatItDoesNotSay) {
  const Context parent = Context::root({.priority = 2, .tenant = "acme", .trace = 9});
  const Context child = parent.child({.priority = -40});
  EXPECT_EQ(child.tenant(), "acme");
  EXPECT_EQ(child.trace(), 9u);
  EXPECT_EQ(child.priority(), kLowestPriority);
  EXPECT_EQ(parent.child({.tenant = "other"}).child().tenant(), "other");
}

TEST(Context, StopGoesDownAndNotUp) {
  const Context parent;
  const Context left = parent.child(), right = parent.child(), below = left.child();
  int called = 0;
  const auto count = [&called] { ++called; };
  StopCallback on_below(below, count), on_right(right, count);
  EXPECT_TRUE(left.request_stop());
  EXPECT_FALSE(left.request_stop());
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(below.stop_requested());
  EXPECT_FALSE(parent.stop_requested());
  EXPECT_FALSE(right.stop_requested());
  EXPECT_THROW(below.checkpoint(), Cancelled);
  parent.request_stop();
  EXPECT_EQ(called, 2);
  EXPECT_EQ(Context::should_stop(right.raw()), 1);
}

TEST(Context, CallbackOnAStoppedContextRunsAtOnce) {
  const Context parent;
  const Context child = parent.child();
  parent.request_stop();
  int called = 0;
  StopCallback late(child, [&called] { ++called; });
  EXPECT_EQ(called, 1);
}

TEST(Context, CallbackThatWentDoesNotRun) {
  const Context context;
  int called = 0;
  {
    StopCallback gone(context, [&called] { ++called; });
  }
  context.request_stop();
  EXPECT_EQ(called, 0);
}

TEST(Context, CallbacksComeAndGoWhileAnotherThreadStops) {
  for (int round = 0; round < 300; ++round) {
    const Context parent;
    std::atomic<int> called{0};
    std::atomic<bool> go{false};
    std::thread stopper([&] {
      while (!go) {
      }
      parent.request_stop();
    });
    go = true;
    for (int i = 0; i < 20; ++i) {
      const Context child = parent.child();
      StopCallback callback(child, [&called] { ++called; });
    }
    stopper.join();
    ASSERT_TRUE(parent.stop_requested());
    ASSERT_LE(called, 20);
  }
}

}  // namespace
}  // namespace genscope::optimize
