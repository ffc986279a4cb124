// What the profilers that genscope began from get wrong, case by case.
#include <gtest/gtest.h>

#include <genscope/analyze.h>

#include "analyze/testing/rows.h"
#include "analyze/testing/trace_builder.h"
#include "testing/units.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::row;
using testing::TraceBuilder;

using testing::kMs;

// 10 blocks of 3 frames, 4 steps each, 4 s in all. The original counts a block's frames at every
// step of it: 30 a second, and no alarm below 10.
TEST(Originals, SevenAndAHalfFramesPerSecondNotThirty) {
  TraceBuilder spans;
  TraceBuilder events;
  for (int b = 0; b < 10; ++b) {
    const std::int64_t begin = b * 400 * kMs;
    const auto block = spans.span("block", SpanKind::block, begin, 400 * kMs);
    spans.args(block, {{"frames", 3}});
    for (int s = 0; s < 4; ++s) {
      const std::int64_t at = begin + s * 100 * kMs;
      const auto step = spans.span("step", SpanKind::step, at, 100 * kMs, {.parent = block});
      spans.args(step, {{"block_size", 3}, {"timestep", 1000.0 - s * 250}});
      events.event("diffusion_step", at + 100 * kMs, {{"block_size", 3}, {"ms", 100}});
    }
    events.event("block", begin + 400 * kMs, {{"index", 1.0 * b}, {"block_size", 3}, {"ms", 400}});
  }
  for (const Trace& trace : {spans.trace(), events.trace()}) {
    const Analysis a = analyze(make_run(trace));
    EXPECT_EQ(a.diffusion.blocks, 10u);
    EXPECT_EQ(a.diffusion.frames, 30u);
    EXPECT_DOUBLE_EQ(a.diffusion.frames_per_second.value(), 7.5);
    EXPECT_DOUBLE_EQ(a.diffusion.blocks_per_second.value(), 2.5);
    EXPECT_DOUBLE_EQ(a.diffusion.steps_per_second.value(), 10);
    EXPECT_EQ(a.steps.count, 40u);
  }
}

// One stack for all threads: totals off by up to 146 %.
TEST(Originals, ThreadTotalsStayApart) {
  TraceBuilder t;
  for (int i = 0; i < 4; ++i) {
    const auto track = i == 0 ? 0 : t.track("worker", static_cast<std::uint32_t>(i));
    const std::int64_t length = (i + 1) * 100 * kMs;
    const auto outer =
        t.span("stage_" + std::to_string(i), SpanKind::stage, i * kMs, length, {.track = track});
    t.span("part_" + std::to_string(i), SpanKind::function, i * kMs, length / 2,
           {.parent = outer, .track = track});
  }
  const Analysis a = analyze(make_run(t.trace()));
  for (int i = 0; i < 4; ++i) {
    const std::int64_t length = (i + 1) * 100 * kMs;
    EXPECT_EQ(row(a, "stage_" + std::to_string(i)).total_ns, length);
    EXPECT_EQ(row(a, "stage_" + std::to_string(i)).self_ns, length / 2);
    EXPECT_EQ(row(a, "part_" + std::to_string(i)).total_ns, length / 2);
  }
}

// Parent and child both in the denominator: 0.2 s become 0.4 s, and 100 % become 50 %.
TEST(Originals, NestedSharesDoNotCountTwice) {
  TraceBuilder t;
  const auto outer = t.span("generate", SpanKind::stage, 0, 200 * kMs);
  t.span("denoise", SpanKind::stage, 0, 150 * kMs, {.parent = outer});
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_EQ(a.wall_ns, 200 * kMs);
  EXPECT_DOUBLE_EQ(row(a, "generate").share, 1);
  ASSERT_EQ(a.bottlenecks.size(), 2u);
  EXPECT_EQ(a.bottlenecks[0].name, "denoise");
  EXPECT_DOUBLE_EQ(a.bottlenecks[0].self_share, 0.75);
  EXPECT_EQ(a.bottlenecks[0].threshold, "over 50% (bottleneck)");
  EXPECT_EQ(a.bottlenecks[1].name, "generate");
  EXPECT_DOUBLE_EQ(a.bottlenecks[1].self_share, 0.25);
  EXPECT_EQ(a.bottlenecks[1].threshold, "over 20% (consider)");
}

// A generation that raised was stored as target met, score 100.
TEST(Originals, AFailedGenerationIsNoSuccess) {
  TraceBuilder t;
  for (int i = 0; i < 4; ++i) {
    const std::uint8_t flags = i == 2 ? kSpanDetached | kSpanFailed : kSpanDetached;
    t.span("generate", SpanKind::request, i * 100 * kMs, (i == 2 ? 1 : 100) * kMs,
           {.flags = flags});
  }
  const RequestSummary r = analyze(make_run(t.trace())).requests;
  EXPECT_EQ(r.count, 4u);
  EXPECT_EQ(r.failed, 1u);
  EXPECT_DOUBLE_EQ(r.success_ratio.value(), 0.75);
  EXPECT_EQ(r.p50_ns, 100 * kMs) << "the failed one is in no time";
}

// 3 epochs of 4 batches were reported as 4 batches.
TEST(Originals, BatchesOfAllEpochsCount) {
  TraceBuilder t;
  for (int e = 0; e < 3; ++e) {
    const std::int64_t begin = e * 1000 * kMs;
    const auto epoch = t.span("epoch", SpanKind::epoch, begin, 400 * kMs);
    for (int b = 0; b < 4; ++b) {
      const auto batch = t.span("batch", SpanKind::batch, begin + b * 100 * kMs, (90 + e) * kMs,
                                {.parent = epoch});
      t.args(batch, {{"loss", 1.0 / (1 + e * 4 + b)}});
    }
  }
  const TrainingSummary s = analyze(make_run(t.trace())).training;
  EXPECT_EQ(s.batches.count, 12u);
  EXPECT_EQ(s.batches.total_ns, 4 * (90 + 91 + 92) * kMs);
  EXPECT_EQ(s.batches.first_loss, 1.0);
  EXPECT_EQ(s.batches.last_loss, 1.0 / 12);
  ASSERT_EQ(s.epochs.size(), 3u);
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_EQ(s.epochs[e].batches.count, 4u);
    EXPECT_EQ(s.epochs[e].batches.p50_ns, static_cast<std::int64_t>(90 + e) * kMs);
    EXPECT_EQ(s.epochs[e].batches.first_loss, 1.0 / static_cast<double>(1 + e * 4));
  }
}

TEST(Originals, AnEvictionIsNoRequest) {
  TraceBuilder t;
  for (int i = 0; i < 3; ++i) t.event("cache", i, {{"type", "hit"}, {"size", 100}});
  t.event("cache", 3, {{"type", "miss"}, {"size", 120}});
  for (int i = 4; i < 8; ++i) {
    t.event("cache", i, {{"type", "eviction"}, {"size", 80}, {"evicted", 10}});
  }
  const CacheSummary c = analyze(make_run(t.trace())).cache.value();
  EXPECT_EQ(c.hits, 3u);
  EXPECT_EQ(c.misses, 1u);
  EXPECT_EQ(c.evictions, 4u);
  EXPECT_DOUBLE_EQ(c.hit_ratio.value(), 0.75) << "of 4 requests, not of 8 events";
  EXPECT_EQ(c.size_last_bytes, 80);
  EXPECT_EQ(c.evicted_bytes, 40);
}

TEST(Originals, FreesAddNoAllocatedBytes) {
  TraceBuilder t;
  t.event("memory", 0, {{"type", "alloc"}, {"bytes", 4e6}});
  t.event("memory", 1, {{"type", "alloc"}, {"bytes", 1000}});
  t.event("memory", 2, {{"type", "free"}, {"bytes", 4e6}});
  const MemoryEvents m = analyze(make_run(t.trace())).memory_events.value();
  EXPECT_EQ(m.allocations, 2u);
  EXPECT_EQ(m.frees, 1u);
  EXPECT_EQ(m.allocated_bytes, 4'001'000);
  EXPECT_EQ(m.freed_bytes, 4e6);
  EXPECT_DOUBLE_EQ(m.small_share.value(), 0.5) << "of the allocations, not of the events";
}

}  // namespace
}  // namespace genscope
