#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include <genscope/optimize/step_batch.h>

#include "optimize/flow/step_queue.h"

namespace genscope::optimize {
namespace {

constexpr std::int64_t kStepSecond = 1'000'000'000;
using Ids = std::vector<std::uint64_t>;

// Steps of `key` until its costs are known: 0.2 + 0.1 b.
void teach(StepQueue& queue, const char* key, double a = 0.2, double c = 0.1) {
  for (const std::size_t b : {1u, 2u}) {
    Ids ids;
    for (std::size_t i = 0; i < b; ++i) ids.push_back(*queue.push(key, kNoDeadline, 0));
    EXPECT_EQ(queue.boundary(0).join.size(), b);
    queue.stepped(a + c * static_cast<double>(b));
    for (const std::uint64_t id : ids) queue.ended(id);
  }
}

TEST(StepQueue, OneThenTwoThenAsManyAsPay) {
  StepQueue queue({.most = 3});
  for (int i = 0; i < 5; ++i) queue.push("a", kNoDeadline, 0);
  EXPECT_EQ(queue.boundary(0).join, (Ids{1}));
  EXPECT_TRUE(queue.boundary(0).join.empty());  // what one costs is not known yet
  queue.stepped(0.3);
  EXPECT_EQ(queue.boundary(0).join, (Ids{2}));
  queue.stepped(0.4);
  EXPECT_EQ(queue.boundary(0).join, (Ids{3}));  // `most`
  EXPECT_TRUE(queue.boundary(0).join.empty());
  queue.ended(2);
  EXPECT_EQ(queue.boundary(0).join, (Ids{4}));  // in the middle of the others' loops
  EXPECT_NEAR(*queue.gain("a", 2), 1.5, 1e-9);
}

TEST(StepQueue, WhereTwoAreNoFasterRequestsRunOneAfterTheOther) {
  StepQueue queue({.look_again_every = 3});
  teach(queue, "a", 0.0, 0.3);
  queue.push("a", kNoDeadline, 0);
  queue.push("a", kNoDeadline, 0);
  EXPECT_EQ(queue.boundary(0).join.size(), 1u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(queue.boundary(0).join.empty());
    queue.stepped(0.3);
  }
  EXPECT_EQ(queue.boundary(0).join.size(), 1u);  // in case that has changed
}

TEST(StepQueue, NobodyJoinsAtTheCostOfADeadline) {
  StepQueue queue;
  teach(queue, "a");
  const auto first = queue.push("a", 10 * kStepSecond, 0);
  EXPECT_EQ(queue.boundary(0).join.size(), 1u);
  queue.left(*first, 30);  // alone 9 s, with another 12 s
  queue.push("a", kNoDeadline, 0);
  EXPECT_TRUE(queue.boundary(0).join.empty());
  queue.left(*first, 20);  // 8 s
  EXPECT_EQ(queue.boundary(0).join.size(), 1u);
}

TEST(StepQueue, AnotherKeyThatWaitsTooLongGetsItsTurn) {
  StepQueue queue({.hold_seconds = 2});
  teach(queue, "a");
  const auto first = queue.push("a", kNoDeadline, 0);
  queue.boundary(0);
  const auto other = queue.push("b", kNoDeadline, 0);
  const auto second = queue.push("a", kNoDeadline, 0);
  EXPECT_EQ(queue.boundary(kStepSecond).join, (Ids{*second}));
  const auto third = queue.push("a", kNoDeadline, kStepSecond);
  EXPECT_TRUE(queue.boundary(2 * kStepSecond).join.empty());
  queue.ended(*first);
  queue.ended(*second);
  EXPECT_EQ(queue.boundary(2 * kStepSecond).join, (Ids{*other}));
  queue.ended(*other);
  EXPECT_EQ(queue.boundary(2 * kStepSecond).join, (Ids{*third}));
}

TEST(StepQueue, WhatFailedTogetherRunsAlone) {
  StepQueue queue;
  teach(queue, "a");
  const auto one = queue.push("a", kNoDeadline, 0), two = queue.push("a", kNoDeadline, 0);
  EXPECT_EQ(queue.boundary(0).join.size(), 2u);
  queue.failed(false);
  EXPECT_EQ(queue.boundary(0).join, (Ids{*one}));
  EXPECT_TRUE(queue.boundary(0).join.empty());
  queue.ended(*one);
  EXPECT_EQ(queue.boundary(0).join, (Ids{*two}));
  queue.ended(*two);
  for (int i = 0; i < 3; ++i) queue.push("a", kNoDeadline, 0);
  EXPECT_EQ(queue.boundary(0).join.size(), 3u);
  queue.failed(true);  // three ran out of memory
  EXPECT_EQ(queue.boundary(0).join.size(), 2u);
}

TEST(StepQueue, WhatExpiresIsToldOnce) {
  StepQueue queue({.most_waiting = 2});
  queue.push("a", 5, 0);
  queue.push("b", kNoDeadline, 0);
  EXPECT_FALSE(queue.push("a", kNoDeadline, 0));
  const auto first = queue.boundary(5);
  EXPECT_EQ(first.expired, (Ids{1}));
  EXPECT_EQ(first.join, (Ids{2}));
  EXPECT_TRUE(queue.boundary(5).expired.empty());
  EXPECT_EQ(queue.waiting(), 0u);
}

// A sum made in steps.
struct Sum {
  int value = 0, left = 0;
};
using Sums = StepBatcher<int, Sum, int>;
Sums::Engine summing(std::atomic<std::size_t>* largest = nullptr) {
  return {.begin = [](int& n) -> Tried<std::unique_ptr<Sum>> {
            if (n < 0) return Failed{Failure::validation, "negative", std::nullopt};
            return std::make_unique<Sum>(Sum{0, n});
          },
          .step = [largest](std::span<Sum* const> sums) -> std::optional<Failed> {
            if (largest != nullptr) *largest = std::max<std::size_t>(*largest, sums.size());
            // Two cost as much as one: it pays.
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            for (Sum* sum : sums) {
              if (sum->left == 13) throw std::runtime_error("unlucky");
              sum->value += sum->left--;
            }
            return std::nullopt;
          },
          .left = [](const Sum& sum) { return static_cast<std::size_t>(sum.left); },
          .finish = [](Sum& sum) -> Tried<int> { return sum.value; }};
}

TEST(StepBatcher, AnswersEachWithItsOwnAndJoinsLoopsUnderWay) {
  std::atomic<std::size_t> largest = 0;
  Sums batcher(summing(&largest), {.most = 4});
  std::vector<std::future<Tried<int>>> answers;
  for (int i = 0; i < 40; ++i) answers.push_back(batcher.submit("k", 1 + i % 12));
  for (int i = 0; i < 40; ++i) {
    const int n = 1 + i % 12;
    EXPECT_EQ(answers[static_cast<std::size_t>(i)].get().value(), n * (n + 1) / 2);
  }
  EXPECT_GT(largest, 1u);
  EXPECT_LE(largest, 4u);
  EXPECT_GT(batcher.requests_in_steps(), batcher.steps());
}

TEST(StepBatcher, FailsThoseAloneThatFail) {
  Sums batcher(summing());
  std::vector<std::future<Tried<int>>> answers;
  for (const int n : {5, 13, 7, -1, 6, 20}) answers.push_back(batcher.submit("k", n));
  EXPECT_EQ(answers[0].get().value(), 15);
  EXPECT_EQ(answers[1].get().failure().message, "unlucky");
  EXPECT_EQ(answers[2].get().value(), 28);
  EXPECT_EQ(answers[3].get().failure().kind, Failure::validation);
  EXPECT_EQ(answers[4].get().value(), 21);
  EXPECT_FALSE(answers[5].get().ok());  // passes 13 on its way
}

TEST(StepBatcher, WhoStopsLeavesAtTheNextStepAndDrainRunsTheRest) {
  Sums batcher(summing(), {.most = 2});
  std::stop_source stop;
  auto endless = batcher.submit("k", 1'000'000'000, {.stop = stop.get_token()});
  auto other = batcher.submit("k", 4);
  stop.request_stop();
  EXPECT_EQ(endless.get().failure().kind, Failure::cancelled);
  batcher.drain();
  EXPECT_EQ(other.get().value(), 10);
  EXPECT_EQ(batcher.submit("k", 1).get().failure().kind, Failure::rejected);
}

TEST(StepBatcher, TheDestructorAnswersEverybody) {
  std::vector<std::future<Tried<int>>> answers;
  {
    Sums batcher(summing(), {.most = 1});
    for (int i = 0; i < 50; ++i) answers.push_back(batcher.submit("k", 12));
  }
  int cancelled = 0;
  for (auto& answer : answers) {
    const Tried<int> got = answer.get();
    cancelled += got.ok() ? 0 : 1;
  }
  EXPECT_GT(cancelled, 0);
}

TEST(StepBatcher, ManyThreads) {
  Sums batcher(summing(), {.most = 3});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 25; ++i) {
        std::stop_source stop;
        const int n = 1 + (i + t) % 9;
        auto answer = batcher.submit(i % 3 == 0 ? "a" : "b", n, {.stop = stop.get_token()});
        if (i % 7 == 0) stop.request_stop();
        const Tried<int> got = answer.get();
        if (got.ok() ? got.value() != n * (n + 1) / 2 : i % 7 != 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace genscope::optimize
