#include <genscope/internal/optimize/async/timers.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

struct NotedTimer : Timer {
  NotedTimer() {
    fire = [](Timer& timer) noexcept { ++static_cast<NotedTimer&>(timer).fired; };
  }
  int fired = 0;
  std::uint64_t due = 0;
  bool armed = false;
};

std::size_t fire_until(TimerWheel& wheel, std::uint64_t tick) {
  std::size_t count = 0;
  while (Timer* due = wheel.advance(tick)) {
    while (due != nullptr) {
      Timer* const next = due->next;
      EXPECT_EQ(static_cast<NotedTimer*>(due)->due <= wheel.now(), true);
      due->fire(*due);
      ++count;
      due = next;
    }
  }
  return count;
}

TEST(TimerWheel, FiresAtItsTickAndNotBefore) {
  for (const std::uint64_t delay : {1ull, 63ull, 64ull, 65ull, 4095ull, 4096ull, 262'144ull,
                                    1'000'000'007ull, 1ull << 36, 1ull << 40}) {
    for (const std::uint64_t start : {0ull, 1ull, 63ull, 4095ull, (1ull << 36) - 1}) {
      TimerWheel wheel(start);
      NotedTimer timer;
      timer.due = start + delay;
      wheel.arm(timer, timer.due);
      EXPECT_EQ(fire_until(wheel, timer.due - 1), 0u) << start << " " << delay;
      EXPECT_LE(wheel.next_tick(), timer.due);
      EXPECT_EQ(fire_until(wheel, timer.due), 1u) << start << " " << delay;
      EXPECT_EQ(wheel.size(), 0u);
    }
  }
}

TEST(TimerWheel, FiresWhatIsPastAtTheNextAdvance) {
  TimerWheel wheel(100);
  NotedTimer timer;
  wheel.arm(timer, 7);
  EXPECT_EQ(wheel.next_tick(), 100u);
  EXPECT_EQ(fire_until(wheel, 100), 1u);
}

TEST(TimerWheel, CancelledTimersDoNotFire) {
  TimerWheel wheel(5);
  NotedTimer a, b, c;
  for (NotedTimer* const timer : {&a, &b, &c}) wheel.arm(*timer, 70);
  EXPECT_TRUE(wheel.cancel(b));
  EXPECT_FALSE(wheel.cancel(b));
  EXPECT_EQ(fire_until(wheel, 1000), 2u);
  EXPECT_EQ(a.fired + c.fired, 2);
  EXPECT_EQ(b.fired, 0);
}

// Against a list that is looked through: same timers, same ticks.
TEST(TimerWheel, AgreesWithAPlainListOnRandomTimers) {
  std::mt19937_64 random(7);
  TimerWheel wheel(random() % 100'000);
  std::vector<std::unique_ptr<NotedTimer>> timers;
  for (int i = 0; i < 500; ++i) timers.push_back(std::make_unique<NotedTimer>());
  std::uint64_t now = wheel.now();
  for (int round = 0; round < 20'000; ++round) {
    NotedTimer& timer = *timers[random() % timers.size()];
    if (timer.armed) {
      EXPECT_TRUE(wheel.cancel(timer));
      timer.armed = false;
    } else {
      timer.due = now + (random() % 8 == 0 ? random() % 5'000'000 : random() % 300);
      wheel.arm(timer, timer.due);
      timer.armed = true;
    }
    if (random() % 4 != 0) continue;
    now += random() % 40 == 0 ? random() % 100'000 : random() % 20;
    std::size_t expected = 0;
    for (const auto& each : timers) expected += each->armed && each->due <= now ? 1 : 0;
    ASSERT_EQ(fire_until(wheel, now), expected);
    std::size_t armed = 0;
    for (const auto& each : timers) {
      if (each->due <= now) each->armed = false;
      armed += each->armed ? 1 : 0;
    }
    ASSERT_EQ(wheel.size(), armed);
  }
}

TEST(Timers, FireWhenTheVirtualClockSaysSo) {
  VirtualClock clock;
  Timers timers(clock);
  NotedTimer timer;
  timers.arm(timer, clock.now_ns() + 5'000'001);
  clock.move_ns(5'000'000);
  timers.advance();
  EXPECT_EQ(timer.fired, 0);
  clock.move_ns(999'999);
  timers.advance();
  EXPECT_EQ(timer.fired, 0);  // never early: the tick after
  clock.move_ns(1);
  timers.advance();
  EXPECT_EQ(timer.fired, 1);
  EXPECT_FALSE(timers.cancel(timer));
}

TEST(Timers, FireByThemselvesOnTheSystemsClock) {
  struct Waited : Timer {
    Waited() {
      fire = [](Timer& timer) noexcept {
        auto& self = static_cast<Waited&>(timer);
        self.at_ns = system_clock().now_ns();
        self.fired = true;
        self.fired.notify_one();
      };
    }
    std::atomic<bool> fired{false};
    std::int64_t at_ns = 0;
  } soon, never;
  Timers timers;
  const std::int64_t due = timers.now_ns() + 3'000'000;
  timers.arm(never, timers.now_ns() + 3'600'000'000'000);
  timers.arm(soon, due);
  soon.fired.wait(false);
  EXPECT_GE(soon.at_ns, due);
  EXPECT_EQ(timers.armed(), 1u);
}

}  // namespace
}  // namespace genscope::optimize
