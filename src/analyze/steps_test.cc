#include "analyze/steps.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace genscope
