// Blocks, training, requests, modalities, layers and the events of Inferix; what the originals got
// wrong is in originals_test.cc, steps are in steps_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include <genscope/analyze.h>

#include "analyze/testing/trace_builder.h"
#include "testing/units.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

using testing::kMs;

DiffusionSummary diffusion(TraceBuilder& t) { return analyze(make_run(t.trace())).diffusion; }
TrainingSummary training(TraceBuilder& t) { return analyze(make_run(t.trace())).training; }

TEST(Diffusion, NothingIsZeroThatWasNotSeen) {
  TraceBuilder t;
  t.span("denoise", SpanKind::stage, 0, kMs);
  const DiffusionSummary d = diffusion(t);
  EXPECT_EQ(d.blocks, 0u);
  EXPECT_FALSE(d.frames || d.frames_per_second || d.blocks_per_second || d.steps_per_second ||
               d.first_block_ns || d.timestep_first || d.guidance_min || d.block_memory_peak_bytes);
}

TEST(Diffusion, TheFirstBlockIsLateByAllThatCameBefore) {
  TraceBuilder t;
  t.span("load", SpanKind::load, 0, 500 * kMs);
  for (int b = 0; b < 3; ++b) t.span("block", SpanKind::block, (500 + b * 100) * kMs, 100 * kMs);
  const DiffusionSummary d = diffusion(t);
  EXPECT_EQ(d.first_block_ns, 600 * kMs);
  EXPECT_DOUBLE_EQ(d.first_block_ratio.value(), 6);
  EXPECT_EQ(d.block_p50_ns, 100 * kMs);
  EXPECT_DOUBLE_EQ(d.blocks_per_second.value(), 10);
  EXPECT_FALSE(d.frames) << "no block says how many";
}

TEST(Diffusion, OneBlockHasNoRatioAndABrokenOneIsNone) {
  TraceBuilder t;
  t.span("block", SpanKind::block, 0, 100);
  t.span("block", SpanKind::block, 100, 1, {.flags = kSpanFailed});
  t.span("block", SpanKind::block, 200, 50, {.flags = kSpanUnfinished});
  const DiffusionSummary d = diffusion(t);
  EXPECT_EQ(d.blocks, 1u);
  EXPECT_EQ(d.first_block_ns, 100);
  EXPECT_FALSE(d.first_block_ratio);
}

TEST(Diffusion, FramesThatSomeBlocksDoNotSayAreInNoRate) {
  TraceBuilder t;
  const auto a = t.span("block", SpanKind::block, 0, 500 * kMs);
  t.args(a, {{"frames", 5}, {"block_size", 9}});
  t.span("block", SpanKind::block, 500 * kMs, 500 * kMs);
  const auto c = t.span("block", SpanKind::block, 1000 * kMs, 500 * kMs);
  t.args(c, {{"frames", std::nan("")}});
  const auto d = t.span("block", SpanKind::block, 1500 * kMs, 500 * kMs);
  t.args(d, {{"block_size", 3}});
  const DiffusionSummary s = diffusion(t);
  EXPECT_EQ(s.blocks, 4u);
  EXPECT_EQ(s.blocks_with_frames, 2u);
  EXPECT_EQ(s.frames, 8u);
  EXPECT_DOUBLE_EQ(s.frames_per_second.value(), 8) << "8 frames in the second that made them";
  EXPECT_DOUBLE_EQ(s.frames_per_block.value(), 4);
  EXPECT_DOUBLE_EQ(s.blocks_per_second.value(), 2);
}

TEST(Diffusion, StepsAndEventsInABlockTellItsFramesOnce) {
  TraceBuilder t;
  const auto first = t.span("block", SpanKind::block, 0, 100);
  for (int i = 0; i < 2; ++i) {
    const auto step = t.span("step", SpanKind::step, i * 50, 50, {.parent = first});
    t.args(step, {{"block_size", 3}});
  }
  const auto second = t.span("block", SpanKind::block, 100, 100);
  t.event("block", 190, {{"block_size", 4}, {"ms", 0.0001}, {"memory_mb", 2}}, second);
  t.event("block", 195, {{"block_size", 4}, {"ms", 0.0001}}, second);
  const DiffusionSummary d = diffusion(t);
  EXPECT_EQ(d.blocks, 2u);
  EXPECT_EQ(d.frames, 7u);
  EXPECT_EQ(d.block_memory_peak_bytes, 2.0 * 1024 * 1024);
}

// A detached span's parent may stand after it, on a track that is read later.
TEST(Diffusion, BlocksAndEpochsMayBeOnAnotherTrack) {
  TraceBuilder t;
  const auto other = t.track("driver", 2);
  const auto step = t.span("step", SpanKind::step, 10, 50, {.parent = 2, .flags = kSpanDetached});
  t.args(step, {{"block_size", 3}});
  t.span("batch", SpanKind::batch, 10, 50, {.parent = 3, .flags = kSpanDetached});
  t.span("block", SpanKind::block, 0, 100, {.track = other});
  t.span("epoch", SpanKind::epoch, 0, 100, {.track = other});
  EXPECT_EQ(diffusion(t).frames, 3u);
  EXPECT_EQ(training(t).epochs.at(0).batches.count, 1u);
}

TEST(Diffusion, OverlappingBlocksOfProcessesShareTheTime) {
  TraceBuilder one(1), two(2);
  for (TraceBuilder* t : {&one, &two}) {
    for (int b = 0; b < 2; ++b) {
      const auto block = t->span("block", SpanKind::block, b * 1000 * kMs, 1000 * kMs);
      t->args(block, {{"frames", 8}});
    }
  }
  const DiffusionSummary d = analyze(make_run(one.trace(), two.trace())).diffusion;
  EXPECT_EQ(d.frames, 32u);
  EXPECT_DOUBLE_EQ(d.frames_per_second.value(), 16);
}

TEST(Diffusion, TimestepsAreByTimeAndGuidanceIsARange) {
  TraceBuilder t;
  const auto a = t.span("step", SpanKind::step, 100, 10);
  t.args(a, {{"timestep", 500}, {"guidance", 4}});
  const auto b = t.span("step", SpanKind::step, 50, 10);
  t.args(b, {{"timestep", 999}, {"guidance_scale", 7.5}});
  const auto c = t.span("step", SpanKind::step, 200, 10);
  t.args(c, {{"timestep", 20}, {"guidance", std::nan("")}});
  t.event("diffusion_step", 300, {{"timestep", 1}, {"guidance_scale", 1}});
  const DiffusionSummary d = diffusion(t);
  EXPECT_EQ(d.timestep_first, 999);
  EXPECT_EQ(d.timestep_last, 1);
  EXPECT_EQ(d.guidance_min, 1);
  EXPECT_EQ(d.guidance_max, 7.5);
  EXPECT_DOUBLE_EQ(d.steps_per_second.value(), 1e8);
}

TEST(Training, LossMayBeACounterAndEpochsMayBeOpen) {
  TraceBuilder t;
  const auto e0 = t.span("train", SpanKind::epoch, 0, 100);
  t.args(e0, {{"index", 7}});
  t.span("batch", SpanKind::batch, 0, 40, {.parent = e0});
  t.span("batch", SpanKind::batch, 50, 30, {.parent = e0, .flags = kSpanFailed});
  const auto e1 = t.span("train", SpanKind::epoch, 100, 100, {.flags = kSpanUnfinished});
  const auto wrapper = t.span("fit", SpanKind::function, 100, 90, {.parent = e1});
  t.span("batch", SpanKind::batch, 100, 60, {.parent = wrapper});
  t.span("batch", SpanKind::batch, 160, 40, {.parent = e1, .flags = kSpanUnfinished});
  t.span("batch", SpanKind::batch, 300, 20);  // in no epoch
  t.counter("loss", 150, 0.25).counter("loss", 20, 0.5).counter("loss", 60, 0.125);
  t.counter("loss", 170, std::nan("")).counter("other", 180, 0.001);
  const TrainingSummary s = training(t);
  EXPECT_EQ(s.batches.count, 4u);
  EXPECT_EQ(s.batches.failed, 1u);
  EXPECT_EQ(s.batches.total_ns, 120);
  EXPECT_EQ(s.batches.min_ns, 20);
  EXPECT_EQ(s.batches.p50_ns, 40);
  EXPECT_EQ(s.batches.max_ns, 60);
  EXPECT_DOUBLE_EQ(s.batches.mean_ns.value(), 40);
  EXPECT_EQ(s.batches.first_loss, 0.5);
  EXPECT_EQ(s.batches.last_loss, 0.25);
  EXPECT_EQ(s.batches.min_loss, 0.125);
  EXPECT_DOUBLE_EQ(s.variance_ratio.value(), 3) << "60 over 20: the first batch is left out";
  EXPECT_TRUE(s.high_variance);
  ASSERT_EQ(s.epochs.size(), 2u);
  EXPECT_EQ(s.epochs[0].index, 7u);
  EXPECT_EQ(s.epochs[0].batches.count, 2u);
  EXPECT_EQ(s.epochs[0].batches.last_loss, 0.125);
  EXPECT_EQ(s.epochs[1].index, 1u);
  EXPECT_TRUE(s.epochs[1].unfinished);
  EXPECT_EQ(s.epochs[1].batches.count, 1u);
  EXPECT_EQ(s.epochs[1].batches.first_loss, 0.25);
  EXPECT_FALSE(s.input_wait_share || s.encode_share) << "nothing of the kind was marked";
}

TEST(Training, EachProcessWarmsUpOnItsOwn) {
  TraceBuilder one(1), two(2);
  for (TraceBuilder* t : {&one, &two}) {
    t->span("epoch", SpanKind::epoch, 0, 1'000);
    for (int b = 0; b < 4; ++b) {
      t->span("batch", SpanKind::batch, b * 200, b == 0 ? 190 : 50 + b, {.parent = 0});
    }
  }
  const TrainingSummary s = analyze(make_run(one.trace(), two.trace())).training;
  EXPECT_EQ(s.batches.count, 8u);
  EXPECT_EQ(s.epochs.size(), 2u);
  EXPECT_EQ(s.epochs[1].batches.count, 4u);
  EXPECT_DOUBLE_EQ(s.variance_ratio.value(), 53.0 / 51);
  EXPECT_FALSE(s.high_variance);
}

TEST(Training, AllFailedHasCountsButNoTimes) {
  TraceBuilder t;
  t.span("batch", SpanKind::batch, 0, 40, {.flags = kSpanFailed});
  const TrainingSummary s = training(t);
  EXPECT_EQ(s.batches.count, 1u);
  EXPECT_EQ(s.batches.failed, 1u);
  EXPECT_FALSE(s.batches.min_ns || s.batches.mean_ns || s.batches.first_loss || s.variance_ratio);
}

TEST(Training, ArgumentsWinOverTheCounterOfTheSameLoss) {
  TraceBuilder t;
  const auto batch = t.span("batch", SpanKind::batch, 0, 40);
  t.args(batch, {{"loss", 2}});
  t.counter("loss", 30, 99);
  EXPECT_EQ(training(t).batches.last_loss, 2);
}

TEST(Training, WaitsForInputAreOfTheLoopsOwnThread) {
  TraceBuilder t;
  const auto loader = t.track("loader", 2);
  const auto b0 = t.span("batch", SpanKind::batch, 0, 100);
  const auto wait = t.span("data_loading", SpanKind::stage, 0, 30, {.parent = b0});
  t.span("load_batch", SpanKind::function, 10, 10, {.parent = wait});  // a part of the wait
  t.span("VAE-encode", SpanKind::stage, 30, 15, {.parent = b0});
  t.span("vae_decode", SpanKind::stage, 45, 5, {.parent = b0});
  t.span("Next Batch", SpanKind::function, 100, 20);  // between two batches
  t.span("vae_encode", SpanKind::stage, 120, 5);      // of no batch
  t.span("batch", SpanKind::batch, 200, 100);
  t.span("data_loading", SpanKind::stage, 0, 290, {.track = loader});
  const TrainingSummary s = training(t);
  EXPECT_DOUBLE_EQ(s.input_wait_share.value(), 50.0 / 220);
  EXPECT_DOUBLE_EQ(s.encode_share.value(), 20.0 / 200);
}

TEST(Requests, SessionsStandInWhereThereAreNone) {
  TraceBuilder t;
  t.span("gen", SpanKind::session, 0, 100, {.flags = kSpanDetached});
  t.span("gen", SpanKind::session, 100, 300, {.flags = kSpanDetached});
  genscope::Run run = make_run(t.trace());
  RequestSummary r = analyze(run).requests;
  EXPECT_TRUE(r.sessions);
  EXPECT_EQ(r.count, 2u);
  EXPECT_DOUBLE_EQ(r.success_ratio.value(), 1);
  EXPECT_EQ(r.max_ns, 300);
  EXPECT_FALSE(r.images) << "a session may make any number";

  run.exit_code = 1;
  r = analyze(run).requests;
  EXPECT_EQ(r.failed, 1u);
  EXPECT_EQ(r.max_ns, 100) << "the one that the program died of is in no time";

  EXPECT_FALSE(analyze(make_run(TraceBuilder().trace())).requests.success_ratio);
}

TEST(Requests, WhatAKillCutOffHasFailedAndWhatStillRunsHasNot) {
  TraceBuilder t;
  t.span("a", SpanKind::request, 0, 100, {.flags = kSpanDetached});
  t.span("b", SpanKind::request, 50, 100, {.flags = kSpanDetached | kSpanUnfinished});
  EXPECT_EQ(analyze(make_run(t.trace())).requests.count, 1u);
  t.trace().integrity.closed = false;
  const RequestSummary r = analyze(make_run(t.trace())).requests;
  EXPECT_EQ(r.count, 2u);
  EXPECT_EQ(r.failed, 1u);
  t.trace().integrity.in_progress = true;
  EXPECT_EQ(analyze(make_run(t.trace())).requests.failed, 0u);
}

TEST(Requests, MakeOneImageEachUnlessTheySay) {
  TraceBuilder t;
  t.span("a", SpanKind::request, 0, 100);
  const auto many = t.span("b", SpanKind::request, 0, 100);
  t.args(many, {{"images", 4}});
  const auto failed = t.span("c", SpanKind::request, 0, 100, {.flags = kSpanFailed});
  t.args(failed, {{"images", 8}});
  EXPECT_EQ(analyze(make_run(t.trace())).requests.images, 5u);
}

TEST(Requests, TextsAreNoImages) {
  TraceBuilder t;
  t.args(t.span("generate", SpanKind::request, 0, 100), {{"images", 0.0}});
  EXPECT_FALSE(analyze(make_run(t.trace())).requests.images);
  t.args(t.span("a", SpanKind::request, 0, 100), {{"images", 2}});
  EXPECT_EQ(analyze(make_run(t.trace())).requests.images, 2u);
}

TEST(Requests, AllFailedHaveNoTime) {
  TraceBuilder t;
  t.span("a", SpanKind::request, 0, 100, {.flags = kSpanDetached | kSpanFailed});
  const RequestSummary r = analyze(make_run(t.trace())).requests;
  EXPECT_EQ(r.success_ratio, 0.0);
  EXPECT_FALSE(r.p50_ns || r.max_ns);
}

TEST(Multimodal, EachPartIsDividedByItsOwnCalls) {
  TraceBuilder t;
  for (int i = 0; i < 4; ++i) {
    const auto text = t.span("encode_prompt", SpanKind::stage, i * 100 * kMs, 20 * kMs);
    t.span("tokenize", SpanKind::function, i * 100 * kMs, 5 * kMs, {.parent = text});
  }
  t.span("image_analysis", SpanKind::stage, 400 * kMs, 100 * kMs);
  t.span("save_image", SpanKind::stage, 500 * kMs, 300 * kMs);
  const MultimodalSummary m = analyze(make_run(t.trace())).multimodal;
  EXPECT_EQ(m.text_calls, 4u);
  EXPECT_EQ(m.image_calls, 1u);
  EXPECT_DOUBLE_EQ(m.text_ms_mean.value(), 20);
  EXPECT_DOUBLE_EQ(m.image_ms_mean.value(), 100);
  EXPECT_DOUBLE_EQ(m.text_share.value(), 80.0 / 800);
  EXPECT_DOUBLE_EQ(m.image_share.value(), 100.0 / 800);
}

TEST(Multimodal, AnImageInsideTextIsNotText) {
  TraceBuilder t;
  const auto text = t.span("text_encoding", SpanKind::stage, 0, 100 * kMs);
  const auto layer = t.span("layer", SpanKind::function, 0, 80 * kMs, {.parent = text});
  t.span("vision", SpanKind::forward, 0, 60 * kMs, {.parent = layer});
  const MultimodalSummary m = analyze(make_run(t.trace())).multimodal;
  EXPECT_DOUBLE_EQ(m.text_ms_mean.value(), 40);
  EXPECT_DOUBLE_EQ(m.image_ms_mean.value(), 60);
}

TEST(Bottlenecks, SharesOfThreadsThatOverlapAddUpToOne) {
  TraceBuilder t;
  const auto worker = t.track("worker", 7);
  t.span("session", SpanKind::session, 0, 100, {.flags = kSpanDetached});
  t.span("request", SpanKind::request, 0, 100, {.flags = kSpanDetached});  // around them all
  t.span("a", SpanKind::stage, 0, 100);
  t.span("b", SpanKind::stage, 0, 50, {.track = worker});
  t.span("c", SpanKind::stage, 50, 10, {.track = worker});
  const std::vector<Bottleneck> found = analyze(make_run(t.trace())).bottlenecks;
  ASSERT_EQ(found.size(), 2u);
  EXPECT_DOUBLE_EQ(found[0].self_share, 100.0 / 160);
  EXPECT_DOUBLE_EQ(found[1].self_share, 50.0 / 160);
  EXPECT_EQ(found[1].threshold, "over 30%");
}

TEST(Layers, AreToldAsEventsOrMarkedByTheirParameters) {
  TraceBuilder told(1);
  const auto beside = told.span("attn", SpanKind::function, 0, 5 * kMs);
  told.args(beside, {{"parameters", 3}});
  told.event("layer", 1, {{"name", "attn"}, {"ms", 6}, {"parameters", 1000}});
  told.event("layer", 2, {{"name", "attn"}, {"ms", 2}});
  told.event("layer", 3, {{"name", "mlp"}, {"ms", 2}});
  told.event("layer", 4, {{"name", "mlp"}, {"ms", std::nan("")}});
  told.event("layer", 5, {{"ms", 3}});
  Analysis a = analyze(make_run(told.trace()));
  ASSERT_EQ(a.layers.size(), 2u);
  EXPECT_EQ(a.layers[0].name, "attn");
  EXPECT_EQ(a.layers[0].count, 2u);
  EXPECT_EQ(a.layers[0].total_ns, 8 * kMs) << "the span tells the same once more";
  EXPECT_EQ(a.layers[0].max_ns, 6 * kMs);
  EXPECT_DOUBLE_EQ(a.layers[0].share, 0.8);
  EXPECT_EQ(a.layers[0].parameters, 1000);
  EXPECT_FALSE(a.layers[1].parameters);
  ASSERT_FALSE(a.bottlenecks.empty());
  EXPECT_EQ(a.bottlenecks.back().threshold, "over 30% of the layers' time");

  TraceBuilder marked(2);
  const auto block = marked.span("block_0", SpanKind::function, 0, 100);
  marked.args(block, {{"parameters", 10}});
  const auto attn = marked.span("attn", SpanKind::function, 0, 60, {.parent = block});
  marked.args(attn, {{"parameters", 4}});
  marked.span("helper", SpanKind::function, 0, 50, {.parent = attn});
  a = analyze(make_run(marked.trace()));
  ASSERT_EQ(a.layers.size(), 2u);
  EXPECT_DOUBLE_EQ(a.layers[0].share, 1);
  EXPECT_DOUBLE_EQ(a.layers[1].share, 0.6);
}

TEST(RecordedEvents, StreamingRatesCountFramesBetweenEvents) {
  TraceBuilder t;
  for (int i = 0; i < 5; ++i) {
    t.event("streaming", i * 500 * kMs,
            {{"batch_size", 8}, {"encoding_time_ms", 10.0 + i}, {"buffer_occupancy", 0.5}});
  }
  t.event("dropped_frames", 2100 * kMs, {{"count", 9}});
  t.event("dropped_frames", 2200 * kMs);
  const StreamingSummary s = analyze(make_run(t.trace())).streaming.value();
  EXPECT_EQ(s.events, 5u);
  EXPECT_EQ(s.frames_sent, 40u);
  EXPECT_EQ(s.frames_dropped, 10u);
  EXPECT_DOUBLE_EQ(s.drop_ratio.value(), 0.2);
  EXPECT_DOUBLE_EQ(s.frames_per_second.value(), 16) << "32 frames in the 2 s after the first event";
  EXPECT_DOUBLE_EQ(s.encode_ms_mean.value(), 12);
  EXPECT_DOUBLE_EQ(s.encode_ms_max.value(), 14);
  EXPECT_DOUBLE_EQ(s.buffer_mean.value(), 0.5);
  EXPECT_FALSE(s.latency_ms_mean || s.latency_ms_max) << "never given";
}

TEST(RecordedEvents, EventsOfOtherShapeAreNotTaken) {
  TraceBuilder t;
  t.event("cache", 0, {{"type", "warm"}});
  t.event("memory", 0, {{"bytes", 5}});
  t.event("model_parameters", 0, {{"name", "unet"}, {"parameters", std::nan("")}});
  t.event("block", 0);
  t.event("layer", 0);
  const Analysis a = analyze(make_run(t.trace()));
  EXPECT_FALSE(a.cache || a.memory_events || a.streaming);
  EXPECT_TRUE(a.models.empty() && a.layers.empty());
  EXPECT_EQ(a.diffusion.blocks, 0u);
}

TEST(RecordedEvents, OnlyEvictionsHaveNoHitRatio) {
  TraceBuilder t;
  t.event("cache", 0, {{"type", "evictions"}});
  const CacheSummary c = analyze(make_run(t.trace())).cache.value();
  EXPECT_EQ(c.evictions, 1u);
  EXPECT_FALSE(c.hit_ratio || c.size_last_bytes || c.evicted_bytes);
}

TEST(RecordedEvents, AModelIsOneRowWhoeverTellsIt) {
  TraceBuilder one(1), two(2);
  one.event("model_parameters", 0, {{"name", "dit"}, {"parameters", 20e9}, {"type", "mmdit"}});
  one.event("model_parameters", 0, {{"name", "vae"}, {"parameters", 1e8}});
  two.event("model_parameters", 0, {{"name", "dit"}, {"parameters", 20e9}, {"type", "mmdit"}});
  const std::vector<ModelRow> models = analyze(make_run(one.trace(), two.trace())).models;
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].name, "dit");
  EXPECT_EQ(models[0].type, "mmdit");
  EXPECT_EQ(models[0].parameters, 20e9);
}

}  // namespace
}  // namespace genscope
