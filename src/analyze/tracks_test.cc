#include "analyze/tracks.h"

#include <gtest/gtest.h>

#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

TEST(Tracks, BusyIsTheTimeCoveredNotTheSum) {
  TraceBuilder t;
  const auto parent = t.span("a", SpanKind::stage, 100, 100);
  t.span("b", SpanKind::block, 110, 90, {.parent = parent});
  t.span("r", SpanKind::request, 150, 100, {.flags = kSpanDetached});
  t.span("c", SpanKind::stage, 300, 10);
  const Analysis a = analyze(make_run(t.trace()));
  ASSERT_EQ(a.tracks.size(), 1u);
  EXPECT_EQ(a.tracks[0].busy_ns, 160);
  EXPECT_EQ(a.tracks[0].spans, 4u);
  EXPECT_EQ(a.tracks[0].first_ns, 0);
  EXPECT_EQ(a.tracks[0].last_ns, 210);
}

TEST(Tracks, ASessionIsNotWork) {
  TraceBuilder t;
  t.span("session", SpanKind::session, 0, 100, {.flags = kSpanDetached});
  t.span("stage", SpanKind::stage, 40, 10);
  EXPECT_EQ(analyze(make_run(t.trace())).tracks.at(0).busy_ns, 10);
}

TEST(Tracks, SilentOnesAreLeftOutUnlessTheyLostSomething) {
  TraceBuilder t;
  t.span("a", SpanKind::stage, 0, 1);
  t.track("silent", 2);
  const auto full = t.track("full", 3);
  const auto counting = t.track("counting", 4);
  t.trace().tracks[full].dropped_spans = 12;
  t.trace().tracks[full].dropped_records = 3;
  t.counter("loss", 1, 0.5, counting);
  const Analysis a = analyze(make_run(t.trace()));
  ASSERT_EQ(a.tracks.size(), 3u);
  EXPECT_EQ(a.tracks[1].name, "full");
  EXPECT_EQ(a.tracks[1].dropped_spans, 12u);
  EXPECT_EQ(a.tracks[2].name, "counting");
  EXPECT_EQ(a.recorder.dropped_spans, 12u);
  EXPECT_EQ(a.recorder.dropped_records, 3u);
  EXPECT_EQ(a.recorder.threads, 3u);
}

TEST(Tracks, NamedTracksAreNotThreads) {
  TraceBuilder t;
  const auto gpu = t.track("gpu queue", 0);
  t.span("a", SpanKind::stage, 0, 1);
  t.span("k", SpanKind::task, 0, 1, {.track = gpu, .flags = kSpanDetached});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(a.tracks.size(), 2u);
  EXPECT_EQ(a.recorder.threads, 1u);
}

TEST(Tracks, AnEmptyRunIsNoError) {
  const Analysis none = analyze(genscope::Run{});
  EXPECT_EQ(none.wall_ns, 0);
  EXPECT_TRUE(none.stages.empty());
  const Analysis empty = analyze(make_run(Trace{}));
  EXPECT_TRUE(empty.tracks.empty());
  EXPECT_EQ(empty.recorder.spans, 0u);
}

}  // namespace
}  // namespace genscope
