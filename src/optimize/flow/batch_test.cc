#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include <genscope/optimize/batch.h>

#include "optimize/flow/batch_model.h"
#include "testing/random.h"

namespace genscope::optimize {
namespace {

constexpr std::int64_t kMilli = 1'000'000, kWhole = 1'000'000'000;

TEST(BatchModel, FindsTheLineAndItsGain) {
  BatchModel model;
  EXPECT_FALSE(model.seconds(1));
  EXPECT_FALSE(model.gain(2));
  model.add(1, 0.3);
  EXPECT_DOUBLE_EQ(*model.seconds(1), 0.3);
  EXPECT_FALSE(model.seconds(2));  // one size says nothing about another
  for (const int b : {2, 4, 3, 8, 1, 2}) model.add(b, 0.2 + 0.1 * b);
  EXPECT_NEAR(*model.seconds(8), 1.0, 1e-9);
  EXPECT_NEAR(*model.gain(2), 2 * 0.3 / 0.4, 1e-9);
  EXPECT_NEAR(*model.gain(8), 8 * 0.3 / 1.0, 1e-9);
}

TEST(BatchModel, FollowsADeviceThatChanges) {
  BatchModel model;
  for (int i = 0; i < 100; ++i) model.add(1 + i % 4, 0.2 + 0.1 * (1 + i % 4));
  for (int i = 0; i < 400; ++i) model.add(1 + i % 4, 0.01 + 0.3 * (1 + i % 4));
  EXPECT_NEAR(*model.gain(2), 2 * 0.31 / 0.61, 0.01);
}

TEST(BatchModel, NoiseGivesNoNegativeTimes) {
  BatchModel falls, negative;
  for (const auto& [b, t] : {std::pair{1.0, 0.4}, {2.0, 0.3}}) falls.add(b, t);
  EXPECT_NEAR(*falls.seconds(100), 0.35, 0.001);
  for (const auto& [b, t] : {std::pair{1.0, 0.1}, {2.0, 0.4}}) negative.add(b, t);
  EXPECT_GT(*negative.seconds(0.1), 0);
}

TEST(CompatKey, RoundsSizesAndSortsLoras) {
  CompatKey a{.model = "sdxl", .width = 1000, .height = 1024, .loras = {"b", "a"}};
  CompatKey b{.model = "sdxl", .width = 1024, .height = 1001, .loras = {"a", "b"}};
  EXPECT_EQ(a.text(), b.text());
  b.guidance = false;
  EXPECT_NE(a.text(), b.text());
}

// --- the queue's decisions

// A device of a + c * b on a virtual clock.
struct QueueBench {
  explicit QueueBench(BatchOptions options) : queue(std::move(options)) {}
  std::uint64_t push(std::int64_t deadline = kNoDeadline, double cost = 1) {
    return *queue.push("k", cost, deadline, now);
  }
  // Runs what is ready; its size, or 0.
  std::size_t run(double a, double c) {
    last = queue.take(now);
    if (last.batch.empty()) return 0;
    const double seconds = a + c * static_cast<double>(last.batch.size());
    now += static_cast<std::int64_t>(seconds * 1e9);
    queue.finish(last.batch, nullptr, seconds, now);
    return last.batch.size();
  }
  // Teaches it the line and lets its limit grow to the most.
  void teach(double a, double c) {
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < 8; ++j) push();
      while (queue.waiting() > 0) {
        if (run(a, c) == 0) now = last.wait_until_ns;
      }
    }
  }
  BatchQueue queue;
  BatchQueue::Take last;
  std::int64_t now = 0;
};

TEST(BatchQueue, RunsTheFirstAloneThenTriesTwoThenGrows) {
  QueueBench bench({.most = 8});
  for (int i = 0; i < 40; ++i) bench.push();
  std::vector<std::size_t> sizes;
  while (bench.queue.waiting() > 0) sizes.push_back(bench.run(0.2, 0.01));
  EXPECT_EQ(sizes[0], 1u);
  EXPECT_EQ(sizes[1], 2u);
  EXPECT_EQ(*std::max_element(sizes.begin(), sizes.end()), 8u);
}

TEST(BatchQueue, RefusesBatchesThatDoNotPay) {
  QueueBench bench({.most = 8});
  for (int i = 0; i < 200; ++i) bench.push();
  std::size_t larger = 0;
  while (bench.queue.waiting() > 0) larger += bench.run(0.01, 0.1) > 1 ? 1 : 0;
  EXPECT_LT(*bench.queue.gain("k", 2), 1.15);
  EXPECT_EQ(larger, 1u);  // the one that showed it
}

TEST(BatchQueue, LooksAgainNowAndThen) {
  QueueBench bench({.most = 8, .look_again_every = 20});
  for (int i = 0; i < 400; ++i) bench.push();
  std::size_t runs = 0, larger = 0;
  for (; bench.queue.waiting() > 300; ++runs) larger += bench.run(0.01, 0.1) > 1 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(larger), static_cast<double>(runs) / 21, 2);
  while (bench.queue.waiting() > 20) bench.run(0.5, 0.01);  // now it pays
  EXPECT_GT(*bench.queue.gain("k", 2), 1.15);
}

TEST(BatchQueue, WaitsForOthersNoLongerThanTheDelay) {
  QueueBench bench({.most = 8, .max_delay_seconds = 0.5});
  bench.teach(0.2, 0.01);
  bench.push();
  EXPECT_EQ(bench.run(0.2, 0.01), 0u);
  EXPECT_EQ(bench.last.wait_until_ns, bench.now + 500 * kMilli);
  bench.now += 100 * kMilli;
  bench.push();
  EXPECT_EQ(bench.run(0.2, 0.01), 0u);
  bench.now += 400 * kMilli;
  EXPECT_EQ(bench.run(0.2, 0.01), 2u);
}

TEST(BatchQueue, DoesNotWaitWhereADeadlineWouldSuffer) {
  QueueBench bench({.most = 8, .max_delay_seconds = 0.5});
  bench.teach(0.2, 0.01);
  bench.push(bench.now + 300 * kMilli);  // two take 220 ms: 80 ms of slack
  EXPECT_EQ(bench.run(0.2, 0.01), 0u);
  EXPECT_NEAR(static_cast<double>(bench.last.wait_until_ns - bench.now), 80e6, 2e6);
  bench.push(bench.now + 225 * kMilli);
  EXPECT_EQ(bench.run(0.2, 0.01), 2u);  // a third would be too late
}

TEST(BatchQueue, TakesOnlyAsManyAsEndInTime) {
  QueueBench bench({.most = 8});
  bench.teach(0.2, 0.1);
  bench.push(bench.now + 550 * kMilli);  // three take 500 ms, four 600
  for (int i = 0; i < 7; ++i) bench.push();
  EXPECT_EQ(bench.run(0.2, 0.1), 3u);
}

TEST(BatchQueue, DoesNotWaitWhereNobodyIsExpected) {
  QueueBench bench({.most = 8, .max_delay_seconds = 0.05});
  bench.teach(0.2, 0.01);
  for (int i = 0; i < 20; ++i) {  // one every two seconds
    bench.push();
    while (bench.run(0.2, 0.01) == 0) bench.now = bench.last.wait_until_ns;
    bench.now += 2 * kWhole;
  }
  bench.push();
  EXPECT_EQ(bench.run(0.2, 0.01), 1u);  // at once
}

TEST(BatchQueue, KeepsKeysApartAndServesTheOldest) {
  BatchQueue queue({.max_delay_seconds = 0});
  const auto a = queue.push("a", 1, kNoDeadline, 0);
  const auto b = queue.push("b", 1, kNoDeadline, 1);
  EXPECT_EQ(queue.take(2).batch, (std::vector<std::uint64_t>{*a}));
  EXPECT_EQ(queue.take(2).batch, (std::vector<std::uint64_t>{*b}));
}

TEST(BatchQueue, RespectsTheBoundOnCost) {
  QueueBench bench({.most = 8, .most_cost = 5});
  bench.teach(0.2, 0.01);
  for (int i = 0; i < 8; ++i) bench.push(kNoDeadline, 2);
  EXPECT_EQ(bench.run(0.2, 0.02), 2u);
}

TEST(BatchQueue, MissesOfTheSloShrinkBatches) {
  QueueBench bench({.most = 8, .slo_seconds = 2});
  bench.teach(0.2, 0.01);
  const double before = bench.queue.limit("k");
  for (int i = 0; i < 8; ++i) bench.push();
  bench.run(5, 0);  // a hiccup
  EXPECT_NEAR(bench.queue.limit("k"), before * 0.9, 1e-9);
}

TEST(BatchQueue, RemembersWhereMemoryRanOut) {
  QueueBench bench({.most = 8});
  bench.teach(0.2, 0.01);
  for (int i = 0; i < 8; ++i) bench.push();
  BatchQueue::Take taken = bench.queue.take(bench.now);
  ASSERT_EQ(taken.batch.size(), 8u);
  const Failed out{Failure::out_of_memory, "", {}};
  EXPECT_EQ(bench.queue.finish(taken.batch, &out, 0.1, bench.now).split, 8u);
  while (bench.run(0.2, 0.01) > 0) {
  }
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 8; ++i) bench.push();
    EXPECT_LE(bench.run(0.2, 0.01), 7u);
  }
}

TEST(BatchQueue, SaysWhichExpiredWhileTheyWaited) {
  BatchQueue queue;
  const auto late = queue.push("k", 1, 10, 0);
  const auto other = queue.push("k", 1, kNoDeadline, 0);
  const BatchQueue::Take taken = queue.take(10);
  EXPECT_EQ(taken.expired, (std::vector<std::uint64_t>{*late}));
  EXPECT_EQ(taken.batch, (std::vector<std::uint64_t>{*other}));
}

TEST(BatchQueue, RejectsWhenFullOrClosed) {
  BatchQueue queue({.most_waiting = 1});
  const auto id = queue.push("k", 1, kNoDeadline, 0);
  EXPECT_FALSE(queue.push("k", 1, kNoDeadline, 0));
  EXPECT_TRUE(queue.cancel(*id));
  EXPECT_FALSE(queue.cancel(*id));
  queue.close();
  EXPECT_FALSE(queue.push("k", 1, kNoDeadline, 0));
  EXPECT_TRUE(queue.take(0).closed);
}

// Random arrivals, keys, deadlines, failures, cancellations; three workers.
TEST(BatchQueueProperty, EveryRequestGetsExactlyOneAnswer) {
  testing::Random random(77);
  for (int round = 0; round < 60; ++round) {
    BatchQueue queue({.most = 1 + random.below(12), .slo_seconds = 0.5, .look_again_every = 10});
    std::map<std::uint64_t, int> answers;
    std::map<std::uint64_t, bool> poisonous;
    std::vector<std::vector<std::uint64_t>> running;
    std::int64_t now = 0;
    const auto finish_one = [&] {
      const std::size_t at = random.below(running.size());
      const std::vector<std::uint64_t> batch = running[at];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      const bool fails =
          std::any_of(batch.begin(), batch.end(), [&](std::uint64_t id) { return poisonous[id]; });
      const Failed failure{random.one_in(2) ? Failure::validation : Failure::out_of_memory, "", {}};
      const auto done = queue.finish(batch, fails ? &failure : nullptr, 0.01, now);
      if (!fails) {
        for (const std::uint64_t id : batch) ++answers[id];
      }
      for (const std::uint64_t id : done.failed) {
        EXPECT_TRUE(poisonous[id]);  // only by itself
        ++answers[id];
      }
    };
    bool closed = false;
    const auto step = [&] {
      now += static_cast<std::int64_t>(random.below(20 * kMilli));
      if (running.size() == 3) return finish_one();
      const BatchQueue::Take taken = queue.take(now);
      closed = taken.closed;
      for (const std::uint64_t id : taken.expired) ++answers[id];
      if (!taken.batch.empty())
        running.push_back(taken.batch);
      else if (!running.empty())
        finish_one();
      else if (taken.wait_until_ns != kNoDeadline)
        now = std::max(now, taken.wait_until_ns);
    };
    for (int i = 0; i < 120; ++i) {
      const std::int64_t deadline =
          random.one_in(3) ? now + static_cast<std::int64_t>(random.below(kWhole)) : kNoDeadline;
      const auto id = queue.push(random.one_in(2) ? "a" : "b", 1, deadline, now);
      answers[*id] = 0;
      poisonous[*id] = random.one_in(15);
      if (random.one_in(10) && queue.cancel(*id)) ++answers[*id];
      step();
    }
    queue.close();
    for (int i = 0; i < 10'000 && !closed; ++i) step();
    ASSERT_TRUE(closed);
    for (const auto& [id, count] : answers) ASSERT_EQ(count, 1) << id;
  }
}

// --- the batcher

TEST(Batcher, AnswersEachRequestWithItsOwn) {
  std::atomic<int> calls = 0;
  Batcher<int, int> batcher([&](std::span<int* const> in) -> Tried<std::vector<int>> {
    ++calls;
    std::vector<int> out;
    for (const int* x : in) out.push_back(*x * 10);
    return out;
  });
  std::vector<std::future<Tried<int>>> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(batcher.submit("k", i));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(futures[static_cast<std::size_t>(i)].get().value(), i * 10);
  }
  EXPECT_LE(calls, 100);
}

TEST(Batcher, OneBadRequestFailsAlone) {
  Batcher<int, int> batcher(
      [](std::span<int* const> in) -> Tried<std::vector<int>> {
        std::vector<int> out;
        for (const int* x : in) {
          if (*x == 13) throw std::runtime_error("thirteen");
          out.push_back(*x);
        }
        return out;
      },
      {.most = 8, .max_delay_seconds = 0, .least_gain = 0});
  std::vector<std::future<Tried<int>>> futures;
  for (int i = 0; i < 50; ++i) futures.push_back(batcher.submit("k", i));
  for (int i = 0; i < 50; ++i) {
    const Tried<int> got = futures[static_cast<std::size_t>(i)].get();
    EXPECT_EQ(got.ok(), i != 13);
    if (!got.ok()) {
      EXPECT_EQ(got.failure().message, "thirteen");
    }
  }
}

TEST(Batcher, SaysIfOutputsAreMissing) {
  Batcher<int, int> batcher(
      [](std::span<int* const>) -> Tried<std::vector<int>> { return std::vector<int>{}; });
  EXPECT_EQ(batcher.submit("k", 1).get().failure().message,
            "the batch function gave 0 outputs for 1 inputs");
}

TEST(Batcher, DrainRunsWhatWaits) {
  std::promise<void> gate;
  std::shared_future<void> open = gate.get_future().share();
  Batcher<int, int> batcher([open](std::span<int* const> in) -> Tried<std::vector<int>> {
    open.wait();
    return std::vector<int>(in.size(), 1);
  });
  std::vector<std::future<Tried<int>>> futures;
  for (int i = 0; i < 5; ++i) futures.push_back(batcher.submit("k", i));
  gate.set_value();
  batcher.drain();
  for (auto& future : futures) EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(batcher.submit("k", 1).get().failure().kind, Failure::rejected);
}

TEST(Batcher, DestructionAnswersWhatWaits) {
  std::promise<void> begun, gate;
  auto batcher =
      std::make_unique<Batcher<int, int>>([&](std::span<int* const> in) -> Tried<std::vector<int>> {
        begun.set_value();
        gate.get_future().wait();
        return std::vector<int>(in.size(), 1);
      });
  std::future<Tried<int>> first = batcher->submit("k", 0), second = batcher->submit("other", 0);
  begun.get_future().wait();
  std::thread destroy([&] { batcher.reset(); });
  EXPECT_EQ(second.get().failure().kind, Failure::cancelled);
  gate.set_value();
  EXPECT_TRUE(first.get().ok());
  destroy.join();
}

TEST(Batcher, SkipsRequestsWhoseCallerLeft) {
  std::promise<void> begun, gate;
  std::atomic<int> ran = 0;
  Batcher<int, int> batcher([&](std::span<int* const> in) -> Tried<std::vector<int>> {
    if (ran.fetch_add(1) == 0) {
      begun.set_value();
      gate.get_future().wait();
    }
    return std::vector<int>(in.size(), 1);
  });
  std::future<Tried<int>> first = batcher.submit("k", 0);
  begun.get_future().wait();
  std::stop_source left;
  std::future<Tried<int>> second = batcher.submit("k", 1, {.stop = left.get_token()});
  left.request_stop();
  gate.set_value();
  EXPECT_TRUE(first.get().ok());
  EXPECT_EQ(second.get().failure().kind, Failure::cancelled);
  EXPECT_EQ(ran, 1);
}

TEST(Batcher, ManyThreadsGetExactlyOneAnswerEach) {
  std::atomic<int> answers = 0, wrong = 0;
  {
    Batcher<int, int> batcher(
        [](std::span<int* const> in) -> Tried<std::vector<int>> {
          std::vector<int> out;
          for (const int* x : in) {
            if (*x % 97 == 0) return Failed{Failure::validation, "bad", {}};
            out.push_back(-*x);
          }
          return out;
        },
        {.most = 16, .max_delay_seconds = 0.0002, .least_gain = 0});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 500; ++i) {
          const int x = t * 1000 + i;
          batcher.submit(i % 2 == 0 ? "a" : "b", x, {}, [&, x](Tried<int> got) {
            ++answers;
            if (got.ok() ? got.value() != -x : x % 97 != 0) ++wrong;
          });
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    batcher.drain();
  }
  EXPECT_EQ(answers, 2000);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace genscope::optimize
