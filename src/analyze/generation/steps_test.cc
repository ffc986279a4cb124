#include <gtest/gtest.h>

#include <cmath>

#include <genscope/analyze.h>

#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

TEST(Steps, FirstIsComparedWithTheMedianOfTheRest) {
  TraceBuilder t;
  for (const std::int64_t duration : {300, 100, 110, 90, 100}) {
    t.span("step", SpanKind::step, t.trace().end_ns, duration);
  }
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.count, 5u);
  EXPECT_EQ(s.first_ns, 300);
  EXPECT_EQ(s.p50_ns, 100);
  EXPECT_EQ(s.max_ns, 300);
  EXPECT_EQ(s.rest_p50_ns, 100);
  EXPECT_DOUBLE_EQ(s.first_ratio, 3.0);
}

TEST(Steps, RestLeavesOutTheFirstEvenIfItIsTheShortest) {
  TraceBuilder t;
  t.span("step", SpanKind::step, 0, 10);
  t.span("step", SpanKind::step, 10, 20);
  t.span("step", SpanKind::step, 30, 40);
  EXPECT_EQ(analyze(make_run(t.trace())).steps.rest_p50_ns, 20);
}

TEST(Steps, OneStepHasNoRest) {
  TraceBuilder t;
  t.span("step", SpanKind::step, 0, 10);
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.count, 1u);
  EXPECT_EQ(s.p50_ns, 10);
  EXPECT_EQ(s.rest_p50_ns, 0);
  EXPECT_EQ(s.first_ratio, 0);
}

TEST(Steps, UnfinishedStepsAndOtherKindsAreNotSteps) {
  TraceBuilder t;
  t.span("step", SpanKind::step, 0, 10, {.flags = kSpanUnfinished});
  t.span("step", SpanKind::block, 0, 10);
  EXPECT_EQ(analyze(make_run(t.trace())).steps.count, 0u);
}

TEST(Steps, DifferentNamesAreOneSeries) {
  TraceBuilder t;
  t.span("base", SpanKind::step, 0, 10);
  t.span("refine", SpanKind::step, 10, 30);
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.count, 2u);
  EXPECT_EQ(s.max_ns, 30);
}

TEST(Steps, FirstIsByTimeAcrossHosts) {
  TraceBuilder late(1);
  TraceBuilder early(2);
  late.span("step", SpanKind::step, 1'000, 10);
  early.span("step", SpanKind::step, 900'000, 70);
  // Another boot: its clock reads 900 us where the first one's reads 500 ns.
  early.trace().process.boot_id = "boot-b";
  late.trace().process.unix_offset_ns = 1'000'000;
  early.trace().process.unix_offset_ns = 1'000'000 - 899'500;
  const Analysis a = analyze(make_run(late.trace(), early.trace()));
  EXPECT_EQ(a.steps.first_ns, 70);
  EXPECT_EQ(a.clock_offset_ns[1], -899'500);
  EXPECT_EQ(a.begin_ns, 500);
  EXPECT_EQ(a.wall_ns, 510);
}

TEST(Steps, ProcessesOfOneBootShareTheClockDespiteTheirOffsets) {
  TraceBuilder one(1);
  TraceBuilder two(2);
  one.span("step", SpanKind::step, 100, 10);
  two.span("step", SpanKind::step, 50, 20);
  two.trace().process.unix_offset_ns = 777;  // read a little later
  const Analysis a = analyze(make_run(one.trace(), two.trace()));
  EXPECT_EQ(a.steps.first_ns, 20);
  EXPECT_EQ(a.wall_ns, 60);
}

// Steps of these durations, one after the other, under `parent`.
void loop(TraceBuilder& t, std::initializer_list<std::int64_t> durations,
          std::uint32_t parent = kNone) {
  for (const std::int64_t duration : durations) {
    t.span("step", SpanKind::step, t.trace().end_ns, duration, {.parent = parent});
  }
}

TEST(Steps, NoStepsHaveNoFigures) {
  const StepSummary s = analyze(make_run(TraceBuilder().trace())).steps;
  EXPECT_EQ(s.count, 0u);
  EXPECT_FALSE(s.steady_p50_ns || s.steady_cv || s.trend_percent_per_100 || s.variance_ratio);
}

TEST(Steps, WarmUpIsTheSlowBeginOfEachLoopTwoAtMost) {
  TraceBuilder t;
  for (int image = 0; image < 2; ++image) {
    const auto stage = t.span("denoise", SpanKind::stage, t.trace().end_ns, 0);
    // The third is as slow, and the one in the middle too: neither is warm-up.
    loop(t, {900, 300, 300, 100, 100, 260, 100, 110}, stage);
  }
  loop(t, {100, 900, 100, 100, 100});  // on the track: its first is not slow
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.count, 21u);
  EXPECT_EQ(s.warmup_count, 4u);
  EXPECT_EQ(s.warmup_ns, 2 * (900 + 300));
  EXPECT_EQ(s.steady_count, 17u);
  EXPECT_EQ(s.steady_p50_ns, 100);
  EXPECT_EQ(s.steady_min_ns, 100);
  EXPECT_EQ(s.steady_max_ns, 900);
}

TEST(Steps, AWrapperAroundEachStepMakesNoLoopOfItsOwn) {
  TraceBuilder t;
  const auto stage = t.span("denoise", SpanKind::stage, 0, 0);
  for (const std::int64_t duration : {900, 100, 100, 100, 900, 100}) {
    const auto wrapper =
        t.span("iterate", SpanKind::function, t.trace().end_ns, duration, {.parent = stage});
    t.span("step", SpanKind::step, t.trace().spans.begin_ns[wrapper], duration,
           {.parent = wrapper});
  }
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.warmup_count, 1u) << "the later slow one stands out, it warms up nothing";
  ASSERT_EQ(s.outlier_count, 1u);
  EXPECT_EQ(s.outliers[0].index, 4u);
  EXPECT_EQ(s.outliers[0].duration_ns, 900);
  EXPECT_DOUBLE_EQ(s.outliers[0].ratio, 9);
}

TEST(Steps, ShortLoopsAreOneSeries) {
  TraceBuilder t;
  for (const std::int64_t duration : {900, 100, 100, 400, 100}) {
    const auto stage = t.span("denoise", SpanKind::stage, t.trace().end_ns, duration);
    t.span("step", SpanKind::step, t.trace().spans.begin_ns[stage], duration, {.parent = stage});
  }
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.warmup_count, 1u);
  EXPECT_EQ(s.outlier_count, 1u);
}

TEST(Steps, HighVarianceIsAboveTwo) {
  TraceBuilder even;
  loop(even, {100, 200, 150, 120});
  TraceBuilder uneven;
  loop(uneven, {100, 201, 150, 120});
  const StepSummary e = analyze(make_run(even.trace())).steps;
  EXPECT_DOUBLE_EQ(e.variance_ratio.value(), 2);
  EXPECT_FALSE(e.high_variance);
  EXPECT_TRUE(analyze(make_run(uneven.trace())).steps.high_variance);
}

TEST(Steps, FailedOnesAreCountedButNotSteady) {
  TraceBuilder t;
  loop(t, {100, 100, 100});
  t.span("step", SpanKind::step, t.trace().end_ns, 1, {.flags = kSpanFailed});
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.count, 4u);
  EXPECT_EQ(s.steady_count, 3u);
  EXPECT_EQ(s.steady_min_ns, 100);
  EXPECT_DOUBLE_EQ(s.steady_cv.value(), 0);

  TraceBuilder all;
  all.span("step", SpanKind::step, 0, 1, {.flags = kSpanFailed});
  const StepSummary none = analyze(make_run(all.trace())).steps;
  EXPECT_EQ(none.count, 1u);
  EXPECT_EQ(none.steady_count, 0u);
  EXPECT_FALSE(none.steady_p50_ns || none.steady_min_ns);
}

TEST(Steps, TrendIsInPercentPerHundredSteps) {
  TraceBuilder t;
  for (int i = 0; i < 41; ++i) loop(t, {1'000'000 + i * 10'000});
  const Slope slope = analyze(make_run(t.trace())).steps.trend_percent_per_100.value();
  EXPECT_NEAR(slope.value, 10'000.0 / 1'200'000 * 100 * 100, 1e-9);
  EXPECT_FALSE(slope.flat());

  TraceBuilder noise;
  loop(noise, {100, 104, 99, 103, 98, 104, 100, 102, 99, 103});
  EXPECT_TRUE(analyze(make_run(noise.trace())).steps.trend_percent_per_100.value().flat());
  TraceBuilder few;
  loop(few, {100, 110, 120, 130});
  EXPECT_FALSE(analyze(make_run(few.trace())).steps.trend_percent_per_100);
}

TEST(Steps, TrendOfManyIsThatOfThemAll) {
  TraceBuilder t;
  for (int i = 0; i < 9'000; ++i) loop(t, {i % 1000 == 7 ? 90'000'000 : 1'000'000 + i * 100});
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_NEAR(s.trend_percent_per_100.value().value, 100.0 / 1'450'000 * 100 * 100, 0.001);
  EXPECT_EQ(s.outlier_count, 9u);
}

TEST(Steps, TrendCountsTheStepsOfAProcessNotOfAll) {
  TraceBuilder one(1), two(2);
  for (int i = 0; i < 40; ++i) {
    for (TraceBuilder* t : {&one, &two}) t->span("step", SpanKind::step, i * 500, 100 + i);
  }
  const StepSummary s = analyze(make_run(one.trace(), two.trace())).steps;
  EXPECT_EQ(s.count, 80u);
  EXPECT_NEAR(s.trend_percent_per_100.value().value, 1.0 / 119 * 100 * 100, 1);
}

TEST(Steps, TheWorstOutliersAreKeptAndAllAreCounted) {
  TraceBuilder t;
  for (int i = 0; i < 1'000; ++i) loop(t, {i % 5 == 4 ? 1'000 + i : 100});
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.outlier_count, 200u);
  ASSERT_EQ(s.outliers.size(), 100u);
  EXPECT_EQ(s.outliers.front().index, 504u) << "the later ones are the longer ones";
  EXPECT_EQ(s.outliers.back().index, 999u);
}

TEST(Steps, InterleavedTracksAreOrderedByTime) {
  TraceBuilder t;
  std::vector<std::uint32_t> tracks = {0};
  for (std::uint32_t i = 1; i < 5; ++i) tracks.push_back(t.track("worker", i));
  for (const std::uint32_t track : tracks) {
    for (int i = 0; i < 7; ++i) {
      // Later tracks begin earlier.
      t.span("step", SpanKind::step, i * 1'000 + 10 - track, 100 + track, {.track = track});
    }
  }
  t.span("step", SpanKind::step, 3'500, 9'000, {.track = 2});
  const StepSummary s = analyze(make_run(t.trace())).steps;
  EXPECT_EQ(s.count, 36u);
  EXPECT_EQ(s.first_ns, 104);
  ASSERT_EQ(s.outlier_count, 1u);
  EXPECT_EQ(s.outliers[0].index, 20u);
}

TEST(Steps, EventsAreStepsWhereNoSpanIs) {
  TraceBuilder told(1);
  for (int i = 0; i < 5; ++i) {
    told.event("diffusion_step", (i + 1) * 3'000'000,
               {{"step", 1.0 * i}, {"ms", i == 0 ? 3.0 : 2.0}});
  }
  told.event("diffusion_step", 20'000'000, {{"ms", std::nan("")}});
  told.event("diffusion_step", 20'000'000, {{"ms", -1}});
  told.event("diffusion_step", 20'000'000);
  TraceBuilder both(2);
  both.span("step", SpanKind::step, 0, 7'000'000);
  both.event("diffusion_step", 7'000'000, {{"ms", 7}});
  EXPECT_EQ(analyze(make_run(told.trace())).steps.count, 5u);
  EXPECT_EQ(analyze(make_run(told.trace())).steps.warmup_count, 0u) << "1.5 times is not above";
  EXPECT_EQ(analyze(make_run(both.trace())).steps.count, 1u);
  EXPECT_EQ(analyze(make_run(told.trace(), both.trace())).steps.count, 6u);
}

}  // namespace
}  // namespace genscope
