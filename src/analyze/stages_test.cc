#include "analyze/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "analyze/testing/rows.h"
#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::row;
using testing::TraceBuilder;

std::int64_t all_self(const Analysis& analysis) {
  return std::accumulate(analysis.stages.begin(), analysis.stages.end(), std::int64_t{0},
                         [](std::int64_t sum, const StageRow& r) { return sum + r.self_ns; });
}

TEST(Stages, ParentWithOneChildOfEqualLengthCountsOnce) {
  TraceBuilder t;
  const auto parent = t.span("outer", SpanKind::stage, 0, 200'000'000);
  t.span("inner", SpanKind::block, 0, 200'000'000, {.parent = parent});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "outer").total_ns, 200'000'000);
  EXPECT_EQ(row(a, "outer").self_ns, 0);
  EXPECT_EQ(row(a, "inner").self_ns, 200'000'000);
  EXPECT_EQ(all_self(a), 200'000'000);
  EXPECT_EQ(a.wall_ns, 200'000'000);
  EXPECT_DOUBLE_EQ(row(a, "outer").share, 1.0);
}

TEST(Stages, RecursionCountsTheOutermostOnly) {
  TraceBuilder t;
  const auto a1 = t.span("f", SpanKind::function, 0, 100);
  const auto b = t.span("g", SpanKind::function, 10, 80, {.parent = a1});
  t.span("f", SpanKind::function, 20, 30, {.parent = b});
  t.span("f", SpanKind::function, 100, 50);
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "f").count, 3u);
  EXPECT_EQ(row(a, "f").total_ns, 150);
  EXPECT_EQ(row(a, "f").self_ns, 20 + 30 + 50);
  EXPECT_EQ(row(a, "g").self_ns, 50);
}

TEST(Stages, ThreadsNeverMix) {
  TraceBuilder t;
  const auto other = t.track("worker", 7);
  const auto parent = t.span("stage", SpanKind::stage, 0, 100);
  t.span("stage", SpanKind::stage, 0, 100, {.track = other});
  t.span("part", SpanKind::block, 10, 50, {.parent = parent, .track = other});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "stage").total_ns, 200);
  EXPECT_EQ(row(a, "stage").self_ns, 200) << "a child on another track runs beside its parent";
  EXPECT_DOUBLE_EQ(row(a, "stage").share, 2.0);
}

TEST(Stages, InterleavedTracksGiveTheSameAsGroupedOnes) {
  TraceBuilder grouped;
  TraceBuilder mixed;
  const auto g1 = grouped.track("worker", 7);
  const auto m1 = mixed.track("worker", 7);
  const auto p = grouped.span("f", SpanKind::stage, 0, 100);
  grouped.span("f", SpanKind::stage, 10, 20, {.parent = p});
  grouped.span("f", SpanKind::stage, 0, 100, {.track = g1});
  const auto q = mixed.span("f", SpanKind::stage, 0, 100);
  mixed.span("f", SpanKind::stage, 0, 100, {.track = m1});
  mixed.span("f", SpanKind::stage, 10, 20, {.parent = q});
  EXPECT_EQ(row(analyze(make_run(grouped.trace())), "f").total_ns, 200);
  EXPECT_EQ(row(analyze(make_run(mixed.trace())), "f").total_ns, 200);
}

TEST(Stages, ChildIsClippedToItsParent) {
  TraceBuilder t;
  const auto parent = t.span("outer", SpanKind::stage, 0, 100);
  t.span("inner", SpanKind::block, 80, 50, {.parent = parent});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "outer").self_ns, 80);
  EXPECT_EQ(row(a, "inner").self_ns, 50);
}

TEST(Stages, DetachedChildTakesNothingFromAStackSpan) {
  TraceBuilder t;
  const auto parent = t.span("stage", SpanKind::stage, 0, 100);
  t.span("request", SpanKind::request, 10, 50, {.parent = parent, .flags = kSpanDetached});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "stage").self_ns, 100);
  EXPECT_EQ(row(a, "request").self_ns, 50);
}

TEST(Stages, DetachedParentLosesTheUnionOfItsChildren) {
  TraceBuilder t;
  const auto other = t.track("worker", 7);
  const auto parent = t.span("request", SpanKind::request, 0, 100, {.flags = kSpanDetached});
  const testing::SpanSpec here{.parent = parent, .flags = kSpanDetached};
  t.span("a", SpanKind::task, 50, 30, {.parent = parent, .track = other, .flags = kSpanDetached});
  t.span("b", SpanKind::task, 10, 30, here);
  t.span("c", SpanKind::task, 20, 30, here);
  t.span("d", SpanKind::task, 90, 30, here);
  const Analysis a = analyze(make_run(t.trace()));
  // Covered: 10..80 and 90..100.
  EXPECT_EQ(row(a, "request").self_ns, 20);
}

TEST(Stages, OverlappingDetachedSpansEachCount) {
  TraceBuilder t;
  t.span("request", SpanKind::request, 0, 100, {.flags = kSpanDetached});
  const auto second = t.span("request", SpanKind::request, 50, 100, {.flags = kSpanDetached});
  t.span("request", SpanKind::request, 60, 10, {.parent = second, .flags = kSpanDetached});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "request").total_ns, 200) << "only the one inside its parent adds nothing";
  EXPECT_EQ(row(a, "request").count, 3u);
}

TEST(Stages, ASessionKeepsTheTimeInWhichNoThreadRecorded) {
  TraceBuilder t;
  const auto other = t.track("worker", 7);
  t.span("session", SpanKind::session, 0, 100, {.flags = kSpanDetached});
  const auto stage = t.span("stage", SpanKind::stage, 10, 30);
  t.span("part", SpanKind::block, 10, 30, {.parent = stage});
  t.span("stage", SpanKind::stage, 70, 20);
  t.span("task", SpanKind::task, 20, 30, {.track = other});
  t.span("task", SpanKind::task, 95, 30, {.track = other});
  const Analysis a = analyze(make_run(t.trace()));
  // Covered: 10..50, 70..90, 95..100.
  EXPECT_EQ(row(a, "session").self_ns, 35);
  EXPECT_EQ(row(a, "session").total_ns, 100);
}

TEST(Stages, ASessionCoversItsNamedChildrenOnce) {
  TraceBuilder t;
  const auto session = t.span("session", SpanKind::session, 0, 100, {.flags = kSpanDetached});
  t.span("stage", SpanKind::stage, 10, 30);
  t.span("request", SpanKind::request, 20, 30, {.parent = session, .flags = kSpanDetached});
  EXPECT_EQ(row(analyze(make_run(t.trace())), "session").self_ns, 60);
}

TEST(Stages, ASpanIsUnderTheSessionThatBeganLast) {
  TraceBuilder t;
  const auto other = t.track("worker", 7);
  t.span("one", SpanKind::session, 0, 100, {.flags = kSpanDetached});
  t.span("a", SpanKind::stage, 10, 10);
  t.span("two", SpanKind::session, 200, 100, {.flags = kSpanDetached});
  t.span("a", SpanKind::stage, 210, 20);
  t.span("b", SpanKind::stage, 220, 20, {.track = other});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "one").self_ns, 90);
  EXPECT_EQ(row(a, "two").self_ns, 70);
}

TEST(Stages, UnfinishedSpansAreCountedApartButCoverTime) {
  TraceBuilder t;
  const auto parent = t.span("session", SpanKind::session, 0, 100, {.flags = kSpanUnfinished});
  t.span("stage", SpanKind::stage, 0, 20, {.parent = parent});
  t.span("stage", SpanKind::stage, 20, 80, {.parent = parent, .flags = kSpanUnfinished});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "stage").count, 1u);
  EXPECT_EQ(row(a, "stage").unfinished, 1u);
  EXPECT_EQ(row(a, "stage").max_ns, 20);
  EXPECT_EQ(row(a, "stage").total_ns, 100);
  EXPECT_EQ(row(a, "session").count, 0u);
  EXPECT_EQ(row(a, "session").self_ns, 0);
  EXPECT_EQ(row(a, "session").min_ns, 0);
}

TEST(Stages, SameNameOfAnotherKindIsAnotherRow) {
  TraceBuilder t;
  t.span("decode", SpanKind::stage, 0, 10);
  t.span("decode", SpanKind::function, 20, 10);
  const Analysis a = analyze(make_run(t.trace()));
  ASSERT_EQ(a.stages.size(), 2u);
  EXPECT_EQ(a.stages[0].kind, SpanKind::stage);
  EXPECT_EQ(a.stages[1].kind, SpanKind::function);
}

TEST(Stages, ProcessesShareRowsWhateverTheirNameNumbers) {
  TraceBuilder one(1);
  TraceBuilder two(2);
  one.span("a", SpanKind::stage, 0, 10);
  one.span("b", SpanKind::stage, 10, 10);
  two.span("b", SpanKind::stage, 0, 5);
  const Analysis a = analyze(make_run(one.trace(), two.trace()));
  ASSERT_EQ(a.stages.size(), 2u);
  EXPECT_EQ(row(a, "b").count, 2u);
  EXPECT_EQ(row(a, "b").total_ns, 15);
}

TEST(Stages, DeviceTimeAndFailuresAreSummed) {
  TraceBuilder t;
  const auto first = t.span("step", SpanKind::step, 0, 10, {.flags = kSpanFailed});
  t.span("step", SpanKind::step, 10, 10);
  const auto third = t.span("step", SpanKind::step, 20, 10);
  t.span("load", SpanKind::load, 30, 10);
  t.device(first, 4).device(third, 5);
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(row(a, "step").device_ns, 9);
  EXPECT_EQ(row(a, "step").failed, 1u);
  EXPECT_FALSE(row(a, "load").device_ns.has_value());
}

TEST(Stages, OrderIsKindThenTotalThenName) {
  TraceBuilder t;
  t.span("y", SpanKind::block, 0, 10);
  t.span("x", SpanKind::block, 10, 10);
  t.span("z", SpanKind::block, 20, 90);
  t.span("plain", SpanKind::none, 110, 5);
  t.span("s", SpanKind::stage, 115, 1);
  std::string order;
  for (const StageRow& r : analyze(make_run(t.trace())).stages) order += r.name + " ";
  EXPECT_EQ(order, "s z x y plain ");
}

TEST(Stages, NonsenseTimesStayDefined) {
  TraceBuilder t;
  auto& s = t.trace().spans;
  const auto parent = t.span("a", SpanKind::stage, 0, 10);
  t.span("a", SpanKind::stage, 1, 1, {.parent = parent});
  s.begin_ns[0] = analysis::kEarliest;
  s.duration_ns[0] = analysis::kLatest;
  s.begin_ns[1] = analysis::kLatest;
  s.duration_ns[1] = -5;
  t.trace().begin_ns = analysis::kEarliest;
  t.trace().end_ns = analysis::kLatest;
  EXPECT_EQ(row(analyze(make_run(t.trace())), "a").count, 2u);
}

TEST(Stages, OfVeryManyNamesTheLargestHaveARowAndTheOthersShareOne) {
  TraceBuilder t;
  std::int64_t at = 0;
  constexpr std::uint64_t kNames = kMaxNamedRows + 500;
  for (std::uint64_t i = 0; i < kNames; ++i) {
    const auto length = static_cast<std::int64_t>(i + 1);
    t.span("n" + std::to_string(i), SpanKind::function, at, length,
           {.flags = static_cast<std::uint8_t>(i == 0 ? kSpanFailed : 0)});
    at += length;
  }
  t.span("others", SpanKind::function, at, 1'000'000);
  t.span("alone", SpanKind::stage, at + 1'000'000, 1);
  const Analysis a = analyze(make_run(t.trace()));
  ASSERT_EQ(a.stages.size(), kMaxNamedRows + 2);
  EXPECT_EQ(row(a, "alone").folded, 0u) << "each kind has rows of its own";
  EXPECT_EQ(all_self(a), at + 1'000'001) << "nothing is lost";
  const StageRow& others = a.stages.back();
  EXPECT_EQ(others.name, kOthers);
  EXPECT_EQ(others.kind, SpanKind::function);
  EXPECT_EQ(others.folded, 501u);
  EXPECT_EQ(others.count, 501u);
  EXPECT_EQ(others.total_ns, 501 * 502 / 2);
  EXPECT_EQ(others.failed, 1u);
  EXPECT_EQ(others.min_ns, 1);
  EXPECT_EQ(others.p50_ns, 251);
  EXPECT_EQ(others.max_ns, 501);
  const auto named = std::find_if(a.stages.begin(), a.stages.end(), [](const StageRow& r) {
    return r.name == "others" && r.folded == 0;
  });
  ASSERT_NE(named, a.stages.end()) << "a name of the program stays";
  EXPECT_EQ(named->total_ns, 1'000'000);
}

TEST(Stages, ManyNamesOfStepsAreStillSteps) {
  TraceBuilder t;
  constexpr int kNames = 3000;
  for (int i = 0; i < kNames; ++i) {
    t.span("s" + std::to_string(i), SpanKind::step, i * 10, 10);
    t.span("f" + std::to_string(i), SpanKind::function, i * 10, 5,
           {.parent = static_cast<std::uint32_t>(2 * i)});
  }
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(a.steps.count, static_cast<std::uint64_t>(kNames));
  EXPECT_EQ(a.stages.size(), 2 * (kMaxNamedRows + 1));
  EXPECT_EQ(all_self(a), kNames * 10);
}

}  // namespace
}  // namespace genscope
