#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <thread>

#include <genscope/optimize/admission.h>

#include "optimize/flow/limit.h"
#include "testing/random.h"

namespace genscope::optimize {
namespace {

using AdmState = AdmissionQueue::State;
constexpr std::int64_t kAdmSecond = 1'000'000'000;

TEST(AdmissionQueue, RunsWaitsAndRefusesByPlace) {
  AdmissionQueue queue({.classes = {{"all", 1}}, .concurrency = 1});
  const auto first = queue.enter({}, 0), second = queue.enter({}, 0), third = queue.enter({}, 0);
  EXPECT_EQ(first.state, AdmState::run);
  EXPECT_EQ(second.state, AdmState::wait);
  EXPECT_EQ(third.state, AdmState::refused);
  EXPECT_EQ(third.refusal.why, Refusal::queue_full);
  EXPECT_FALSE(third.refusal.retry_after_seconds);  // nothing measured yet
  const auto decided = queue.finished(first.id, true, kAdmSecond);
  ASSERT_EQ(decided.size(), 1u);
  EXPECT_TRUE(decided[0].run);
  EXPECT_EQ(decided[0].id, second.id);
}

TEST(AdmissionQueue, RefusesAtTheDoorWhatWouldBeLate) {
  AdmissionQueue queue({.concurrency = 1, .seconds_per_cost = 1, .safety = 0});
  EXPECT_EQ(queue.enter({.deadline_ns = 5 * kAdmSecond}, 0).state, AdmState::run);
  EXPECT_EQ(queue.enter({.deadline_ns = 5 * kAdmSecond}, 0).state, AdmState::wait);
  const auto late = queue.enter({.deadline_ns = 2'500'000'000}, 0);  // would end at 3 s
  EXPECT_EQ(late.refusal.why, Refusal::deadline);
  EXPECT_NEAR(*late.refusal.retry_after_seconds, 0.5, 1e-6);
  EXPECT_EQ(queue.enter({.cost = 4, .deadline_ns = 5 * kAdmSecond}, 0).refusal.why,
            Refusal::deadline);
  EXPECT_EQ(queue.stats(0).rejected, 2u);
}

TEST(AdmissionQueue, AFirstRequestThatLoadsAModelSaysLittleAboutTheNext) {
  AdmissionQueue queue({.concurrency = 1});
  std::int64_t now = 0;
  const auto run = [&](double seconds) {
    const auto entered = queue.enter({}, now);
    queue.finished(entered.id, true, now += static_cast<std::int64_t>(seconds * 1e9));
  };
  run(30);
  for (int i = 0; i < 20; ++i) run(1);
  EXPECT_NEAR(*queue.stats(now).seconds_per_cost, 1, 0.01);
  run(30);  // and so does one that loads it again
  EXPECT_LT(*queue.stats(now).seconds_per_cost, 1.1);
  EXPECT_EQ(queue.enter({.deadline_ns = now + 2 * kAdmSecond}, now).state, AdmState::run);
}

TEST(AdmissionQueue, FollowsAServiceThatHasBecomeSlower) {
  AdmissionQueue queue({.concurrency = 1});
  std::int64_t now = 0;
  for (int i = 0; i < 100; ++i) {
    const auto entered = queue.enter({}, now);
    queue.finished(entered.id, true, now += (i < 50 ? 1 : 4) * kAdmSecond);
  }
  EXPECT_GT(*queue.stats(now).seconds_per_cost, 3.3);
}

// What was slow for a moment must not be refused for ever: an idle service tries again.
TEST(AdmissionQueue, AnIdleServiceMeasuresAnew) {
  AdmissionQueue queue({.concurrency = 1, .seconds_per_cost = 5, .safety = 2.33});
  std::int64_t now = 0;
  const auto ask = [&](double within) {
    return queue.enter({.deadline_ns = now + static_cast<std::int64_t>(within * 1e9)}, now);
  };
  // On the mean it would be in time: the margin alone does not leave a device idle.
  const auto tight = ask(6);
  EXPECT_EQ(tight.state, AdmState::run);
  EXPECT_EQ(ask(6).refusal.why, Refusal::deadline);  // it is not idle now
  queue.finished(tight.id, true, now = 5 * kAdmSecond);
  EXPECT_EQ(ask(1).refusal.why, Refusal::deadline);
  now = 14 * kAdmSecond;
  EXPECT_EQ(ask(1).refusal.why, Refusal::deadline);
  now = 16 * kAdmSecond;  // twice as long as one seems to take
  const auto probe = ask(1);
  EXPECT_EQ(probe.state, AdmState::run);
  EXPECT_EQ(ask(1).refusal.why, Refusal::deadline);
  EXPECT_EQ(queue.enter({.deadline_ns = now}, now).refusal.why, Refusal::deadline);
  queue.finished(probe.id, true, now += kAdmSecond / 10);
  EXPECT_LT(*queue.stats(now).seconds_per_cost, 5);
}

// Forty times slower than it is: measured while another program had the machine, say.
TEST(AdmissionQueue, FollowsAServiceThatHasBecomeQuicker) {
  AdmissionQueue queue({.concurrency = 1, .seconds_per_cost = 4});
  std::int64_t now = 0;
  int taken = 0;
  for (int request = 0; request < 240; ++request, now += kAdmSecond / 4) {
    const auto entered = queue.enter({.deadline_ns = now + 2 * kAdmSecond}, now);
    if (entered.state != AdmState::run) continue;
    queue.finished(entered.id, true, now + kAdmSecond / 10);
    taken += request >= 120 ? 1 : 0;
  }
  EXPECT_EQ(taken, 120);  // all of the last half minute
}

TEST(AdmissionQueue, CountsWhatRunsByWhatIsLeftOfIt) {
  AdmissionQueue queue({.concurrency = 1, .seconds_per_cost = 1, .safety = 0});
  queue.enter({}, 0);
  const std::int64_t now = 900'000'000;  // a tenth is left
  EXPECT_EQ(queue.enter({.deadline_ns = now + 1'200'000'000}, now).state, AdmState::wait);
}

TEST(AdmissionQueue, DropsWhatBecameOverdueWhenItsTurnComes) {
  AdmissionQueue queue({.concurrency = 1, .seconds_per_cost = 1, .safety = 0});
  const auto first = queue.enter({}, 0);
  const auto tight = queue.enter({.deadline_ns = 3 * kAdmSecond}, 0);
  const auto loose = queue.enter({.deadline_ns = 9 * kAdmSecond}, 0);
  const auto decided = queue.finished(first.id, true, 2'500'000'000);  // slower than thought
  ASSERT_EQ(decided.size(), 2u);
  EXPECT_EQ(decided[0].id, tight.id);
  EXPECT_FALSE(decided[0].run);
  EXPECT_EQ(decided[0].refusal.why, Refusal::overdue);
  EXPECT_EQ(decided[1].id, loose.id);
  EXPECT_TRUE(decided[1].run);
}

TEST(AdmissionQueue, StandingQueuesDropOldHeadsWithoutDeadline) {
  AdmissionQueue queue({.queue_target_seconds = 1, .queue_interval_seconds = 5});
  const auto first = queue.enter({}, 0);
  queue.enter({}, 0);
  auto decided = queue.finished(first.id, true, 2 * kAdmSecond);  // a burst: waits up to 5 s
  ASSERT_EQ(decided.size(), 1u);
  EXPECT_TRUE(decided[0].run);
  AdmissionQueue standing({.queue_target_seconds = 1, .queue_interval_seconds = 5});
  std::uint64_t runs = standing.enter({}, 0).id;
  std::size_t dropped = 0;
  for (int s = 1; s <= 12; ++s) {  // never empty
    standing.enter({}, s * kAdmSecond - 1);
    standing.enter({}, s * kAdmSecond - 1);
    for (const auto& one : standing.finished(runs, true, s * kAdmSecond)) {
      if (one.run)
        runs = one.id;
      else
        ++dropped;
    }
  }
  EXPECT_GT(dropped, 2u);
  EXPECT_EQ(standing.stats(0).overdue, dropped);
}

TEST(AdmissionQueue, EarlierClassesGoFirst) {
  AdmissionQueue queue({.classes = {{"interactive", 8}, {"bulk", 8}}});
  const auto running = queue.enter({}, 0);
  const auto bulk = queue.enter({.in_class = 1}, 0);
  const auto quick = queue.enter({.in_class = 0}, 0);
  EXPECT_EQ(queue.finished(running.id, true, 1).at(0).id, quick.id);
  EXPECT_EQ(queue.finished(quick.id, true, 2).at(0).id, bulk.id);
}

TEST(AdmissionQueue, CloseRefusesWhatWaitsAndWhatComes) {
  AdmissionQueue queue;
  const auto first = queue.enter({}, 0), second = queue.enter({}, 0);
  const auto decided = queue.close();
  ASSERT_EQ(decided.size(), 1u);
  EXPECT_EQ(decided[0].id, second.id);
  EXPECT_EQ(decided[0].refusal.why, Refusal::closed);
  EXPECT_EQ(queue.enter({}, 0).refusal.why, Refusal::closed);
  EXPECT_TRUE(queue.finished(first.id, true, 1).empty());
}

// One device, 0.4 to 0.6 s a request, twice as many as it can serve, SLO 5 s.
TEST(AdmissionQueue, AtTwiceTheCapacityGoodputAndLatencyHold) {
  testing::Random random(21);
  const auto uniform = [&random] { return static_cast<double>(random.next() >> 11) * 0x1.0p-53; };
  const auto ns = [](double s) { return static_cast<std::int64_t>(s * 1e9); };
  AdmissionQueue queue({.classes = {{"all", 1000}}});
  std::map<std::uint64_t, std::int64_t> arrived;
  std::uint64_t running = 0;
  std::int64_t now = 0, free_at = 0, next = 0;
  std::size_t good = 0, late = 0;
  const auto start = [&](std::uint64_t id) {
    running = id;
    free_at = now + ns(0.4 + 0.2 * uniform());
  };
  while (now < 1000 * kAdmSecond) {
    if (running == 0 || next <= free_at) {
      now = next;
      next = now - ns(std::log(1 - uniform()) * 0.25);
      const auto entered = queue.enter({.deadline_ns = now + 5 * kAdmSecond}, now);
      if (entered.id != 0) arrived[entered.id] = now;
      if (entered.state == AdmState::run) start(entered.id);
      continue;
    }
    now = free_at;
    ++(now - arrived[running] <= 5 * kAdmSecond ? good : late);
    const auto decided = queue.finished(std::exchange(running, 0), true, now);
    for (const auto& one : decided) {
      if (one.run) start(one.id);
    }
  }
  EXPECT_GE(good, 1800u);  // of 2,000 that the device can do
  EXPECT_LE(late, (good + late) / 100);
  EXPECT_EQ(queue.stats(now).desired_replicas, 3u);  // twice the load, and some
}

// Random costs, deadlines, classes, cancellations, failures and an adaptive limit.
TEST(AdmissionProperty, EveryRequestHasOneFateAndTheLimitHolds) {
  testing::Random random(5);
  for (int round = 0; round < 40; ++round) {
    AdmissionOptions options;
    options.classes = {{"a", random.below(6)}, {"b", random.below(20)}};
    options.concurrency = 2;
    options.limit = {.least = 1, .most = 6, .window = 3};
    AdmissionQueue queue(options);
    std::int64_t now = 1;
    std::set<std::uint64_t> waiting, running;
    std::uint64_t refused = 0, entered = 0, dropped = 0, cancelled = 0, begun = 0;
    const auto decide = [&](const std::vector<AdmissionQueue::Decided>& decided) {
      for (const auto& one : decided) {
        ASSERT_EQ(waiting.erase(one.id), 1u);
        if (one.run) {
          running.insert(one.id);
          ++begun;
        } else {
          ++dropped;
        }
      }
    };
    for (int i = 0; i < 300; ++i) {
      now += static_cast<std::int64_t>(random.below(kAdmSecond));
      AdmissionRequest request{random.below(3), 0.5 + static_cast<double>(random.below(4)),
                               kNoDeadline};
      if (random.one_in(2))
        request.deadline_ns = now + static_cast<std::int64_t>(random.below(9 * kAdmSecond));
      const auto got = queue.enter(request, now);
      ++entered;
      if (got.state == AdmState::run) {
        running.insert(got.id);
        ++begun;
      } else if (got.state == AdmState::wait) {
        waiting.insert(got.id);
      } else {
        ++refused;
      }
      if (!waiting.empty() && random.one_in(9)) {
        const std::uint64_t id = *waiting.begin();
        ASSERT_TRUE(queue.cancel(id));
        waiting.erase(id);
        ++cancelled;
      }
      if (!running.empty() && !random.one_in(3)) {
        const std::uint64_t id = *running.begin();
        running.erase(id);
        decide(queue.finished(id, !random.one_in(5), now, random.one_in(8)));
      }
      if (random.one_in(20)) decide(queue.expire(now));
      const AdmissionStats stats = queue.stats(now);
      ASSERT_EQ(stats.running, running.size());
      ASSERT_EQ(stats.waiting, waiting.size());
      ASSERT_LE(stats.running, 6u);
      ASSERT_EQ(stats.admitted, begun);
      ASSERT_EQ(entered, begun + refused + dropped + cancelled + waiting.size());
    }
  }
}

TEST(AdaptiveLimit, FindsAboutTheConcurrencyThatADeviceHas) {
  AdaptiveLimit limit({.least = 1, .most = 64, .start = 1});
  for (int i = 0; i < 20'000; ++i) {  // four at once; more share them
    const double running = std::floor(limit.value());
    limit.finished(0.1 * std::max(1.0, running / 4), static_cast<std::size_t>(running));
  }
  EXPECT_GE(limit.value(), 4);
  EXPECT_LE(limit.value(), 10);
}

TEST(AdaptiveLimit, LearnsThatADeviceBecameSlower) {
  AdaptiveLimit limit({.least = 1, .most = 64, .start = 1});
  const auto serve = [&limit](double seconds) {
    for (int i = 0; i < 20'000; ++i) {
      const double running = std::floor(limit.value());
      limit.finished(seconds * std::max(1.0, running / 4), static_cast<std::size_t>(running));
    }
  };
  serve(0.1);
  serve(0.5);
  EXPECT_GE(limit.value(), 4);
  EXPECT_LE(limit.value(), 10);
}

TEST(AdaptiveLimit, GrowsOnlyWhenUsedAndShrinksOnOverload) {
  AdaptiveLimit idle({.least = 1, .most = 64, .start = 8});
  for (int i = 0; i < 1000; ++i) idle.finished(0.1, 1);
  EXPECT_LE(idle.value(), 8);
  idle.overloaded();
  EXPECT_NEAR(idle.value(), 7.2, 1e-9);
  for (int i = 0; i < 100; ++i) idle.overloaded();
  EXPECT_EQ(idle.value(), 1);
}

TEST(Replicas, GoUpAtOnceAndDownAfterAWhile) {
  EXPECT_EQ(desired_replicas(9, 2), 5u);
  EXPECT_EQ(desired_replicas(0, 2), 1u);
  EXPECT_FALSE(desired_replicas(9, 0));
  ReplicaAdvisor advisor({.down_after_seconds = 60});
  EXPECT_EQ(advisor.update(9, 2, 0), 5u);
  EXPECT_EQ(advisor.update(3, 2, kAdmSecond), 5u);
  EXPECT_EQ(advisor.update(3, 2, 30 * kAdmSecond), 5u);
  EXPECT_EQ(advisor.update(3, 2, 62 * kAdmSecond), 2u);
  EXPECT_EQ(advisor.update(1.9, 2, 63 * kAdmSecond), 2u);  // at the edge of one
  EXPECT_EQ(advisor.update(1.9, 2, 999 * kAdmSecond), 2u);
}

TEST(Admission, GivesOnePermitAtATimeToManyThreads) {
  Admission admission({.classes = {{"all", 1000}}, .concurrency = 2});
  std::atomic<int> inside = 0, most = 0, served = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        Admission::Entry entry = admission.enter();
        ASSERT_TRUE(entry.admitted());
        const int now = ++inside;
        int seen = most.load();
        while (now > seen && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::yield();
        --inside;
        ++served;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 600);
  EXPECT_LE(most, 2);
  EXPECT_EQ(admission.stats().running, 0u);
}

TEST(Admission, AWaitEndsWithTheDeadlineTheStopOrTheClose) {
  Admission admission;
  Admission::Entry held = admission.enter();
  const auto overdue = admission.enter({.deadline_ns = flow_now_ns() + 1'000'000});
  EXPECT_EQ(overdue.refusal().why, Refusal::overdue);
  std::stop_source stop;
  std::thread stopped(
      [&] { EXPECT_EQ(admission.enter({}, stop.get_token()).refusal().why, Refusal::cancelled); });
  stop.request_stop();
  stopped.join();
  std::thread closed([&] { EXPECT_EQ(admission.enter().refusal().why, Refusal::closed); });
  admission.close();
  closed.join();
  EXPECT_TRUE(held.admitted());
  held.end(true);
  admission.wait_idle();
  EXPECT_EQ(admission.stats().finished, 1u);
}

TEST(Admission, ShowsItsFiguresToPrometheus) {
  Admission admission({.name = "gpu \"0\""});
  { const auto entry = admission.enter(); }
  const std::string text = admission.prometheus_text();
  EXPECT_NE(text.find("genscope_admission_admitted_total{name=\"gpu \\\"0\\\"\"} 1\n"),
            std::string::npos);
  EXPECT_EQ(text.find("desired_replicas"), std::string::npos);  // not known yet
}

}  // namespace
}  // namespace genscope::optimize
