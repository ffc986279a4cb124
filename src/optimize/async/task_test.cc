#include <genscope/optimize/async.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace genscope::optimize {
namespace {

Task<int> number(int n) { co_return n; }
Task<int> sum_to(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) sum += co_await number(i);
  co_return sum;
}
Task<void> note(std::vector<int>* order, int n) {
  order->push_back(n);
  co_return;
}
Task<int> failing(std::string text) {
  if (!text.empty()) throw std::runtime_error(text);
  co_return 1;
}

TEST(Task, GivesItsValueToWhoAwaitsIt) { EXPECT_EQ(sync_wait(sum_to(100)), 5050); }

TEST(Task, RunsOnlyWhenAwaited) {
  std::vector<int> order;
  const auto body = [](std::vector<int>* into) -> Task<void> {
    Task<void> late = note(into, 2);
    Task<void> never = note(into, 3);
    into->push_back(1);
    co_await std::move(late);
  };
  sync_wait(body(&order));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Task, CarriesTheExceptionToTheAwait) {
  const auto body = []() -> Task<std::string> {
    try {
      co_await failing("broken");
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
    co_return "none";
  };
  EXPECT_EQ(sync_wait(body()), "broken");
  EXPECT_THROW(sync_wait(failing("out")), std::runtime_error);
}

TEST(Task, MovesAValueThatCannotBeCopied) {
  const auto body = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  EXPECT_EQ(*sync_wait(body()), 7);
}

TEST(Task, SeesTheContextOfItsCaller) {
  const auto inner = []() -> Task<int> { co_return (co_await current_context()).priority(); };
  const auto outer = [](auto in) -> Task<std::vector<int>> {
    const Context own = co_await current_context();
    std::vector<int> seen;
    seen.push_back(co_await in());
    seen.push_back(co_await under(own.child({.priority = 3}), in()));
    seen.push_back(co_await in());
    co_return seen;
  };
  EXPECT_EQ(sync_wait(outer(inner), Context::root({.priority = 1})), (std::vector<int>{1, 3, 1}));
}

TEST(Task, CheckpointThrowsOnceStopped) {
  const Context context;
  const auto body = [](Context own, int* steps) -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      co_await checkpoint();
      ++*steps;
      if (i == 2) own.request_stop();
    }
  };
  int steps = 0;
  EXPECT_THROW(sync_wait(body(context, &steps), context), Cancelled);
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace genscope::optimize
