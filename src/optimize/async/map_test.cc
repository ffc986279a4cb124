#include <genscope/optimize/async.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

std::vector<int> up_to(int n) {
  std::vector<int> items(static_cast<std::size_t>(n));
  std::iota(items.begin(), items.end(), 0);
  return items;
}

Task<int> squared(int n) { co_return n* n; }

TEST(ParallelMap, GivesTheValuesInOrder) {
  Pool pool(2);
  const std::vector<int> squares = sync_wait(parallel_map(pool, up_to(100), squared));
  ASSERT_EQ(squares.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(squares[static_cast<std::size_t>(i)], i * i);
  EXPECT_TRUE(sync_wait(parallel_map(pool, std::vector<int>(), squared)).empty());
}

TEST(ParallelMap, TakesPlainFunctionsAndThoseThatGiveNothing) {
  Pool pool(2);
  std::atomic<int> sum{0};
  const auto texts =
      sync_wait(parallel_map(pool, up_to(5), [](int n) { return std::to_string(n); }));
  EXPECT_EQ(texts[4], "4");
  sync_wait(parallel_map(pool, up_to(5), [&sum](int n) { sum += n; }));
  EXPECT_EQ(sum, 10);
}

TEST(ParallelMap, RunsNoMoreAtOnceThanTheLimit) {
  Pool pool(2);
  struct Seen {
    std::atomic<int> now{0}, most{0};
  } seen;
  const auto body = [&pool, &seen](int) {
    return [](Pool* on, Seen* in) -> Task<void> {
      const int running = ++in->now;
      int before = in->most;
      while (running > before && !in->most.compare_exchange_weak(before, running)) {
      }
      co_await on->schedule();
      --in->now;
    }(&pool, &seen);
  };
  sync_wait(parallel_map(pool, up_to(200), body, {.limit = 3}));
  EXPECT_LE(seen.most, 3);
  EXPECT_GE(seen.most, 1);
}

TEST(ParallelMap, FirstErrorStopsTheRest) {
  Pool pool(1);
  std::atomic<int> ran{0};
  const auto body = [&ran](int n) {
    ++ran;
    if (n == 5) throw std::runtime_error("five");
    return n;
  };
  EXPECT_THROW(sync_wait(parallel_map(pool, up_to(1000), body, {.limit = 2})), std::runtime_error);
  EXPECT_LT(ran, 1000);
}

TEST(ParallelStream, KeepsTheOrderOrGivesWhatIsReady) {
  Pool pool(2);
  const auto read = [](Pool* on, bool ordered) -> Task<std::vector<std::size_t>> {
    Scope scope(*on, co_await current_context());
    std::vector<std::size_t> order;
    {
      MapOptions options;
      options.limit = 3;
      options.ordered = ordered;
      auto stream = parallel_stream(scope, up_to(200), squared, options);
      while (true) {
        auto item = co_await stream.next();
        if (!item) break;
        EXPECT_EQ(*item->value, static_cast<int>(item->index * item->index));
        order.push_back(item->index);
      }
    }
    co_await scope.join();
    co_return order;
  };
  std::vector<std::size_t> expected(200);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  EXPECT_EQ(sync_wait(read(&pool, true)), expected);
  std::vector<std::size_t> any = sync_wait(read(&pool, false));
  std::sort(any.begin(), any.end());
  EXPECT_EQ(any, expected);
}

TEST(ParallelStream, RunsAheadByItsWindowOnly) {
  Pool pool(2);
  std::atomic<int> started{0};
  const auto read = [](Pool* on, std::atomic<int>* begun) -> Task<int> {
    Scope scope(*on, co_await current_context());
    int most = 0;
    {
      MapOptions options;
      options.limit = 2;
      options.window = 4;
      auto stream = parallel_stream(
          scope, up_to(100), [begun](int n) { return ++*begun, n; }, options);
      for (int taken = 1;; ++taken) {
        auto item = co_await stream.next();
        if (!item) break;
        most = std::max(most, *begun - taken);
        co_await on->schedule();
      }
    }
    co_await scope.join();
    co_return most;
  };
  EXPECT_LE(sync_wait(read(&pool, &started)), 4);
  EXPECT_EQ(started, 100);
}

TEST(ParallelStream, CollectsErrorsOrThrowsTheFirst) {
  Pool pool(2);
  const auto read = [](Pool* on, OnError how) -> Task<int> {
    Scope scope(*on, co_await current_context());
    int failed = 0;
    std::exception_ptr error;
    {
      MapOptions options;
      options.on_error = how;
      auto stream = parallel_stream(
          scope, up_to(10),
          [](int n) {
            if (n % 2 != 0) throw std::runtime_error("odd");
            return n;
          },
          options);
      try {
        while (true) {
          auto item = co_await stream.next();
          if (!item) break;
          failed += item->error != nullptr ? 1 : 0;
        }
      } catch (...) {
        error = std::current_exception();
      }
    }
    co_await scope.join();
    if (error) std::rethrow_exception(error);
    co_return failed;
  };
  EXPECT_EQ(sync_wait(read(&pool, OnError::collect_all)), 5);
  EXPECT_THROW(sync_wait(read(&pool, OnError::stop_siblings)), std::runtime_error);
}

TEST(Channel, HoldsSendersBackAndEndsWhenClosed) {
  Pool pool(2);
  const auto body = [](Pool* on) -> Task<long> {
    Channel<int> channel(3);
    Scope scope(*on, co_await current_context());
    std::atomic<int> open{4};
    for (int s = 0; s < 4; ++s) {
      scope.spawn([](Channel<int>* to, std::atomic<int>* left) -> Task<void> {
        for (int i = 1; i <= 100; ++i) {
          EXPECT_TRUE(co_await to->send(i));
          EXPECT_LE(to->size(), 3u);
        }
        if (--*left == 0) to->close();
      }(&channel, &open));
    }
    long sum = 0;
    while (true) {
      const std::optional<int> got = co_await channel.receive();
      if (!got) break;
      sum += *got;
    }
    EXPECT_FALSE(co_await channel.send(1));
    co_await scope.join();
    co_return sum;
  };
  EXPECT_EQ(sync_wait(body(&pool)), 4 * 5050);
}

TEST(Channel, AStoppedWaiterLeaves) {
  Pool pool(1);
  Channel<int> channel(1);
  const Context context;
  Scope scope(pool);
  std::atomic<int> cancelled{0};
  const auto reader = [](Channel<int>* from, std::atomic<int>* into) -> Task<void> {
    try {
      co_await from->receive();
    } catch (const Cancelled&) {
      ++*into;
    }
  };
  scope.spawn(reader(&channel, &cancelled), "reader", context);
  context.request_stop();
  scope.wait();
  EXPECT_EQ(cancelled, 1);
}

}  // namespace
}  // namespace genscope::optimize
