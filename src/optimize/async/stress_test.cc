// Random work with cancellations. GENSCOPE_STRESS_SECONDS=60 makes the last test run longer.
#include <genscope/optimize/async.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

using namespace std::chrono_literals;

struct Random : std::mt19937 {
  using std::mt19937::mt19937;
  unsigned operator()() { return static_cast<unsigned>(std::mt19937::operator()()); }
};

// One thread, a virtual clock, random acquires, releases, stops and time.
TEST(LimiterProperty, NoUnitIsLeakedAndNoCallbackIsLostOrDoubled) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    VirtualClock clock;
    Timers timers(clock);
    const std::int64_t capacity = 1 + random() % 6;
    Limiter limiter(capacity);
    struct Request {
      Context context;
      std::int64_t units = 1;
      int answers = 0;
      WaitResult outcome = WaitResult::rejected;
      Permit permit;
    };
    std::vector<std::unique_ptr<Request>> requests;
    const auto held = [&] {
      std::int64_t units = 0;
      for (const auto& request : requests) units += request->permit ? request->units : 0;
      return units;
    };
    for (int step = 0; step < 400; ++step) {
      const unsigned what = random() % 10;
      if (what < 4 || requests.empty()) {
        auto request = std::make_unique<Request>();
        request->units = 1 + random() % (capacity + 1);  // sometimes more than there is
        ContextOptions options{.priority = static_cast<int>(random() % 4) - 2,
                               .tenant = std::string(1, static_cast<char>('a' + random() % 3)),
                               .timers = &timers};
        if (random() % 3 == 0) options.timeout = std::chrono::milliseconds(random() % 20);
        request->context = Context::root(options);
        Request* const raw = request.get();
        requests.push_back(std::move(request));
        limiter.acquire(raw->context, {raw->units}, [raw](WaitResult outcome, Permit permit) {
          ++raw->answers;
          raw->outcome = outcome;
          raw->permit = std::move(permit);
        });
      } else if (what < 7) {
        requests[random() % requests.size()]->permit.release();
      } else if (what < 8) {
        requests[random() % requests.size()]->context.request_stop();
      } else {
        clock.move_ns(static_cast<std::int64_t>(random() % 4'000'000));
        timers.advance();
      }
      ASSERT_LE(held(), capacity) << seed;
      ASSERT_EQ(held(), limiter.stats().in_use) << seed;
      std::size_t unanswered = 0;
      for (const auto& request : requests) {
        ASSERT_LE(request->answers, 1) << seed;
        ASSERT_EQ(static_cast<bool>(request->permit) && request->answers == 0, false);
        unanswered += request->answers == 0 ? 1 : 0;
      }
      ASSERT_EQ(unanswered, limiter.stats().waiting) << seed;
      ASSERT_TRUE(held() != 0 || unanswered == 0) << seed;  // all is free: nobody waits
    }
    for (const auto& request : requests) request->context.request_stop();
    for (const auto& request : requests) request->permit.release();
    EXPECT_EQ(limiter.stats().in_use, 0);
    EXPECT_EQ(limiter.stats().waiting, 0u);
    EXPECT_EQ(timers.armed(), 0u);
  }
}

struct Inside {
  std::atomic<int> now{0}, wrong{0}, bodies{0}, timeouts{0};
};

Task<void> storm_body(Lane* lane, Inside* inside, int spins) {
  co_await lane->run([inside, spins] {
    if (inside->now.fetch_add(1) != 0) ++inside->wrong;
    for (int i = 0; i < spins; ++i) std::this_thread::yield();
    ++inside->bodies;
    inside->now.fetch_sub(1);
  });
}
Task<void> storm_caller(Lane* lane, Inside* inside, int spins, int limit_ms) {
  try {
    co_await with_timeout(std::chrono::milliseconds(limit_ms), storm_body(lane, inside, spins));
  } catch (const Stopped&) {
    ++inside->timeouts;
  }
}

TEST(LaneProperty, ATimeoutStormNeverRunsTwoBodies) {
  Random random(3);
  VirtualClock clock;
  Timers timers(clock);
  Pool pool(2);
  Lane lane("cuda:0");
  Inside inside;
  {
    Scope scope(pool, Context::root({.timers = &timers}));
    for (int i = 0; i < 300; ++i) {
      scope.spawn(storm_caller(&lane, &inside, static_cast<int>(random() % 20),
                               static_cast<int>(random() % 50)));
    }
    while (scope.size() > 0) {
      clock.move_ns(1'000'000);
      timers.advance();
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(inside.wrong, 0);
  EXPECT_EQ(inside.now, 0);
  EXPECT_EQ(lane.limiter().stats().in_use, 0);
  EXPECT_GE(inside.bodies + inside.timeouts, 300);
}

// Everything at once, on the system's clock.
struct Arena {
  Pool pool{3};
  BlockingPool blocking{2};
  Lane serial{"serial"}, wide{"wide", {.width = 2}};
  Limiter limiter{5};
  Channel<int> channel{4};
  std::atomic<int> in_serial{0}, in_wide{0}, wrong{0};
  std::atomic<std::int64_t> units{0};
  std::atomic<std::uint64_t> steps{0};
};

void visit(std::atomic<int>& inside, int most, Arena& arena) {
  if (inside.fetch_add(1) >= most) ++arena.wrong;
  std::this_thread::yield();
  inside.fetch_sub(1);
}

Task<void> wander(Arena* arena, unsigned seed, int depth);

Task<void> one_step(Arena* arena, unsigned what, unsigned seed, int depth) {
  switch (what) {
    case 0:
      co_await arena->pool.schedule();
      break;
    case 1:
      co_await arena->serial.run([arena] { visit(arena->in_serial, 1, *arena); });
      break;
    case 2:
      co_await arena->wide.run([arena] { visit(arena->in_wide, 2, *arena); });
      break;
    case 3: {
      const std::int64_t units = 1 + seed % 5;
      const Permit permit = co_await arena->limiter.acquire({units});
      if ((arena->units += units) > 5) ++arena->wrong;
      co_await arena->pool.schedule();
      arena->units -= units;
      break;
    }
    case 4:
      co_await sleep_for(std::chrono::microseconds(seed % 2000));
      break;
    case 5:
      co_await arena->blocking.schedule();
      co_await arena->pool.schedule();
      break;
    case 6:
      co_await arena->channel.send(1);
      break;
    case 7:
      co_await arena->channel.receive();
      break;
    case 8:
      if (depth > 0) {
        co_await with_timeout(std::chrono::microseconds(seed % 3000),
                              wander(arena, seed + 1, depth - 1));
      }
      break;
    case 9:
      if (depth > 0) {
        Scope scope(arena->pool, co_await current_context());
        scope.spawn(wander(arena, seed + 2, depth - 1), "child");
        scope.spawn(wander(arena, seed + 3, depth - 1), "child");
        if (seed % 3 == 0) scope.request_stop();
        co_await scope.join();
      }
      break;
    default:
      co_await checkpoint();
  }
}

Task<void> wander(Arena* arena, unsigned seed, int depth) {
  Random random(seed);
  const unsigned steps = random() % 6;
  for (unsigned i = 0; i < steps; ++i) {
    ++arena->steps;
    const unsigned what = random() % 11, next = random();
    try {
      co_await one_step(arena, what, next, depth);
    } catch (const Timeout&) {
      // Of a part: go on, unless all of it is to end.
    }
    co_await checkpoint();
  }
}

TEST(AsyncStress, RandomTasksWithCancellationsEndAndLeakNothing) {
  const char* const asked = std::getenv("GENSCOPE_STRESS_SECONDS");
  const double seconds = asked != nullptr ? std::atof(asked) : 1;
  Arena arena;
  Random random(1);
  const std::int64_t end = system_clock().now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (system_clock().now_ns() < end) {
    Scope scope(arena.pool, {}, {OnError::collect_all});
    std::vector<Context> contexts;
    for (int i = 0; i < 40; ++i) {
      ContextOptions options{.priority = static_cast<int>(random() % 3),
                             .tenant = std::string(1, static_cast<char>('a' + random() % 3))};
      if (random() % 2 == 0) options.timeout = std::chrono::microseconds(random() % 5000);
      contexts.push_back(scope.context().child(options));
      scope.spawn(wander(&arena, random(), 3), "wanderer", contexts.back());
    }
    for (int i = 0; i < 20; ++i) {
      contexts[random() % contexts.size()].request_stop();
      if (i % 5 == 0) live_tasks();
      std::this_thread::yield();
    }
    // Senders and receivers that never meet would wait for ever.
    scope.close_blocking(2ms);
    scope.wait();
  }
  EXPECT_EQ(arena.wrong, 0);
  EXPECT_EQ(arena.units, 0);
  EXPECT_EQ(arena.limiter.stats().in_use, 0);
  EXPECT_EQ(arena.limiter.stats().waiting, 0u);
  EXPECT_EQ(arena.serial.limiter().stats().in_use, 0);
  EXPECT_EQ(arena.wide.limiter().stats().in_use, 0);
  EXPECT_GT(arena.steps, 100u);
  RecordProperty("steps", static_cast<int>(arena.steps));
}

}  // namespace
}  // namespace genscope::optimize
