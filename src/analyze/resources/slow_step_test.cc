#include "analyze/resources/slow_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/testing/samples.h"

namespace genscope {
namespace {

using testing::add_entity;
using testing::add_readings;
using ::testing::HasSubstr;
using testing::kMs;
using testing::kSecond;
using testing::TraceBuilder;

// Twenty steps of 100 ms, of which step 12 takes a second; CPU time while `cores(second)`, and
// the state of storage.
template <class Cores, class State>
Analysis analysis_of(Cores&& cores, State&& state, std::int64_t slow_ns = kSecond,
                     std::size_t slow_at = 11) {
  TraceBuilder t;
  add_entity(t, EntityKind::process_tree, "tree");
  std::int64_t at = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    const std::int64_t length = i == slow_at ? slow_ns : 100 * kMs;
    t.span("step", SpanKind::step, at, length);
    at += length;
  }
  double cpu = 0;
  for (std::int64_t now = 0; now <= at; now += 50 * kMs) {
    const double second = static_cast<double>(now) / 1e9;
    t.counter("tree/cpu_ns", now, cpu);
    cpu += cores(second) * 5e7;
  }
  add_readings(t, "tree/storage_wait", 0, at, 50 * kMs, state);
  return analyze(testing::make_run(t.trace()));
}

constexpr auto kBusy = [](double) { return 1.0; };
constexpr auto kNever = [](double) { return 0.0; };
constexpr auto kIdleThen = [](double s) { return s >= 1.1 && s < 2.1 ? 0.05 : 1.0; };

TEST(SlowStep, IsNamedWithWhatTheMachineDidThen) {
  const Analysis slept = analysis_of(kIdleThen, kNever);
  ASSERT_TRUE(slept.resources.slow_step);
  const SlowStep& step = *slept.resources.slow_step;
  EXPECT_EQ(step.index, 11u);
  EXPECT_NEAR(step.ratio, 10, 0.01);
  EXPECT_NEAR(step.share, 0.9 / 2.9, 0.01);
  EXPECT_THAT(step.meanwhile, HasSubstr("slept or waited"));

  const Analysis disk = analysis_of(kIdleThen, [](double s) { return s >= 1.1 && s < 2.1; });
  EXPECT_THAT(disk.resources.slow_step->meanwhile, HasSubstr("waited for storage"));

  const Analysis more = analysis_of(kBusy, kNever);
  EXPECT_THAT(more.resources.slow_step->meanwhile, HasSubstr("more to do"));
}

TEST(SlowStep, WithoutReadingsSaysSo) {
  TraceBuilder t;
  for (int i = 0; i < 10; ++i) {
    t.span("step", SpanKind::step, i * kSecond, i == 5 ? kSecond : 100 * kMs);
  }
  const Analysis analysis = analyze(testing::make_run(t.trace()));
  ASSERT_TRUE(analysis.resources.slow_step);
  EXPECT_EQ(analysis.resources.slow_step->meanwhile, "no probe watched it");
}

TEST(SlowStep, IsNeitherTheFirstNorTheLastNorAnOrdinaryOne) {
  EXPECT_FALSE(analysis_of(kBusy, kNever, 240 * kMs).resources.slow_step);
  EXPECT_FALSE(analysis_of(kBusy, kNever, kSecond, 0).resources.slow_step);
  EXPECT_FALSE(analysis_of(kBusy, kNever, kSecond, 19).resources.slow_step);
}

TEST(SlowSteps, AtEvenDistancesAreToldSo) {
  const auto every_of = [](auto&& is_slow) {
    TraceBuilder t;
    std::int64_t at = 0;
    for (int i = 0; i < 60; ++i) {
      const std::int64_t length = is_slow(i) ? 500 * kMs : 50 * kMs;
      t.span("step", SpanKind::step, at, length);
      at += length;
    }
    return analyze(testing::make_run(t.trace())).steps.slow_every;
  };
  EXPECT_EQ(every_of([](int i) { return i % 10 == 9; }), 10u);
  EXPECT_FALSE(every_of([](int i) { return i == 3 || i == 4 || i == 30 || i == 41 || i == 58; }));
  EXPECT_FALSE(every_of([](int i) { return i == 20 || i == 40; })) << "too few";
}

}  // namespace
}  // namespace genscope
