#include <gtest/gtest.h>

#include <bit>

#include "advise/testing/facts.h"
#include "analyze/testing/trace_builder.h"
#include "testing/units.h"

namespace genscope {
namespace {

using testing::fired;
using testing::kMs;
using testing::number;

// A generation: text 100 ms, `steps`, decode 50 ms, in a session that says a few things.
struct Generation {
  testing::TraceBuilder trace;
  std::uint32_t denoise = 0;
  std::int64_t now = 0;

  explicit Generation(const std::vector<std::int64_t>& steps, int forwards = 1) {
    const std::uint32_t session =
        trace.span("gen", SpanKind::session, 0, 1, {.flags = kSpanDetached});
    trace.arg(session, "steps", ArgType::uint64, steps.size())
        .arg(session, "set.offload", ArgType::text, 0, "model")
        .arg(session, "autocast", ArgType::text, 0, "yes")
        .arg(session, "unheard_of", ArgType::uint64, 1);
    trace.span("text_encoding", SpanKind::stage, 0, 100 * kMs);
    now = 100 * kMs;
    std::int64_t all = 0;
    for (const std::int64_t ms : steps) all += ms * kMs;
    denoise = trace.span("denoise", SpanKind::stage, now, all);
    for (const std::int64_t ms : steps) {
      const std::uint32_t step =
          trace.span("step", SpanKind::step, now, ms * kMs, {.parent = denoise});
      for (int i = 0; i < forwards; ++i) {
        trace.span("unet", SpanKind::forward, now, ms * kMs / (forwards + 1), {.parent = step});
      }
      trace.span("scheduler_step", SpanKind::stage, now + ms * kMs / 2, kMs, {.parent = step});
      now += ms * kMs;
    }
    trace.span("vae_decode", SpanKind::stage, now, 50 * kMs);
    now += 50 * kMs;
    trace.trace().spans.duration_ns[session] = now;
  }
  Facts facts() {
    const genscope::Run run = testing::make_run(trace.trace());
    return facts_of(analyze(run));
  }
};

TEST(FactsOfARun, StagesHaveSharesUnderOneNameWithoutWhatIsInAnother) {
  const Facts facts = Generation({200, 100, 100, 100, 100, 100}).facts();
  EXPECT_NEAR(number(facts, "stage_groups.exclusive_share[text_encode]"), 100.0 / 850, 1e-9);
  EXPECT_NEAR(number(facts, "stage_groups.exclusive_share[denoise]"), 694.0 / 850, 1e-9);
  EXPECT_NEAR(number(facts, "stage_groups.exclusive_share[scheduler_step]"), 6.0 / 850, 1e-9);
  EXPECT_EQ(number(facts, "stage_groups.exclusive_ns[vae_decode]"), 50e6);
  EXPECT_EQ(std::get<std::string>(*facts.find("stage_groups.top")), "denoise");
}

TEST(FactsOfARun, StepsAreJudgedAgainstTheSteadyOnes) {
  const Facts facts = Generation({1000, 110, 100, 100, 100, 300, 100, 100}, 2).facts();
  EXPECT_EQ(number(facts, "steps.count"), 8);
  EXPECT_EQ(number(facts, "steps.steady_p50_ns"), 100e6);
  EXPECT_EQ(number(facts, "steps.first_ratio"), 10);
  EXPECT_NEAR(number(facts, "steps.second_ratio"), 1.1, 1e-9);
  EXPECT_EQ(number(facts, "steps.slow_count"), 2);
  EXPECT_EQ(number(facts, "steps.slow_inner_count"), 1);
  EXPECT_EQ(number(facts, "steps.trend_percent_per_100"), 0);
  EXPECT_EQ(number(facts, "utilisation.forwards_per_step"), 2);
  EXPECT_NEAR(number(facts, "steps.scheduler_share"), 8.0 / 1910, 1e-9);
}

TEST(FactsOfARun, AWarmUpIsFoundAndASteadyRunIsNot) {
  EXPECT_TRUE(fired(advise(Generation({900, 90, 90, 90, 90, 90, 90}).facts()), "WARM-FIRST"));
  const Advice clean = advise(Generation({90, 90, 90, 90, 90, 90, 90}).facts());
  EXPECT_TRUE(clean.findings.empty()) << clean.findings[0].rule.id;
}

TEST(FactsOfARun, StepsThatGrowHaveATrend) {
  std::vector<std::int64_t> steps;
  for (int i = 0; i < 40; ++i) steps.push_back(100 + i);
  const Facts facts = Generation(steps).facts();
  EXPECT_NEAR(number(facts, "steps.trend_percent_per_100"), 1.0 / 119 * 100 * 100, 0.01);
}

TEST(FactsOfARun, WhatTheProgramSaysOfItselfIsTakenIfItIsOfTheRightKind) {
  const Facts facts = Generation({1, 1, 1}).facts();
  EXPECT_EQ(number(facts, "set.steps"), 3);
  EXPECT_EQ(std::get<std::string>(*facts.find("set.offload")), "model");
  EXPECT_EQ(facts.find("set.autocast"), nullptr);
  EXPECT_NE(facts.why_missing("set.autocast"), "");
  EXPECT_EQ(facts.find("unheard_of"), nullptr);
}

TEST(FactsOfARun, AnAbsentSensorGivesNoFactAndNoAdvice) {
  const Facts facts = Generation({90, 90, 90, 90, 90, 90}).facts();
  for (const char* name :
       {"gpu.busy_ratio", "gpu.present", "host.rss_growth_ratio", "allocator.reserved_bytes"}) {
    EXPECT_EQ(facts.find(name), nullptr) << name;
  }
  EXPECT_NE(facts.why_missing("gpu.present"), "");
}

TEST(FactsOfARun, RepeatedPromptsAndLoadsAreCounted) {
  testing::TraceBuilder trace;
  std::int64_t at = 0;
  for (const char* prompt : {"a cat", "a dog", "a cat", "a cat"}) {
    const auto span = trace.span("encode_prompt", SpanKind::stage, at, kMs);
    trace.arg(span, "prompt", ArgType::text, 0, prompt);
    const auto load = trace.span("weights", SpanKind::load, at + kMs, 500 * kMs);
    trace.arg(load, "file", ArgType::text, 0, "flux.safetensors")
        .arg(load, "bytes", ArgType::uint64, 1'000'000'000);
    at += 600 * kMs;
  }
  const genscope::Run run = testing::make_run(trace.trace());
  const Facts facts = facts_of(analyze(run));
  EXPECT_EQ(number(facts, "loads.prompt_repeats"), 2);
  EXPECT_EQ(number(facts, "loads.repeats"), 3);
  EXPECT_NEAR(number(facts, "loads.bytes_per_second"), 2e9, 1);
  EXPECT_EQ(number(facts, "stage_groups.count[text_encode]"), 4);
}

TEST(FactsOfARun, BlocksStreamsAndLayersAnswerDocument002) {
  testing::TraceBuilder trace;
  for (int b = 0; b < 4; ++b) {
    const auto block = trace.span("block", SpanKind::block, b * 1000 * kMs, 1000 * kMs);
    trace.args(block, {{"frames", 9}});
    trace.event("streaming", b * 1000 * kMs, {{"batch_size", 9}});
  }
  trace.event("dropped_frames", 4000 * kMs, {{"count", 4}});
  trace.event("layer", 0, {{"name", "attn"}, {"ms", 3}});
  trace.event("layer", 0, {{"name", "mlp"}, {"ms", 1}});
  const genscope::Run run = testing::make_run(trace.trace());
  const Facts facts = facts_of(analyze(run));
  EXPECT_EQ(number(facts, "diffusion.frames_per_second"), 9);
  EXPECT_EQ(number(facts, "diffusion.frames_per_block"), 9);
  EXPECT_EQ(number(facts, "diffusion.first_block_ratio"), 1);
  EXPECT_EQ(number(facts, "streaming.frames_sent"), 36);
  EXPECT_EQ(number(facts, "streaming.drop_ratio"), 0.1);
  EXPECT_EQ(std::get<std::string>(*facts.find("layers.top")), "attn");
  const Advice advice = advise(facts);
  for (const char* id : {"STREAM-FPS", "STREAM-DROP", "BLOCK-LARGE", "LAYER-TOP"}) {
    EXPECT_TRUE(fired(advice, id)) << id;
  }
  EXPECT_FALSE(fired(advice, "FIRST-BLOCK"));
}

TEST(FactsOfARun, TrainingAndRequestsAreCounted) {
  testing::TraceBuilder trace;
  const auto epoch = trace.span("epoch", SpanKind::epoch, 0, 400 * kMs);
  for (int b = 0; b < 4; ++b) {
    const auto batch =
        trace.span("batch", SpanKind::batch, b * 100 * kMs, 100 * kMs, {.parent = epoch});
    trace.span("data_loading", SpanKind::stage, b * 100 * kMs, 25 * kMs, {.parent = batch});
    trace.span("vae_encode", SpanKind::stage, (b * 100 + 25) * kMs, 20 * kMs, {.parent = batch});
  }
  trace.span("r", SpanKind::request, 0, kMs, {.flags = kSpanDetached | kSpanFailed});
  trace.span("r", SpanKind::request, 0, kMs, {.flags = kSpanDetached});
  const genscope::Run run = testing::make_run(trace.trace());
  const Facts facts = facts_of(analyze(run));
  EXPECT_EQ(number(facts, "training.input_wait_share"), 0.25);
  EXPECT_EQ(number(facts, "training.encode_share"), 0.2);
  EXPECT_EQ(number(facts, "requests.count"), 2);
  EXPECT_EQ(number(facts, "requests.failed"), 1);
  EXPECT_EQ(number(facts, "set.images"), 1);
  const Advice advice = advise(facts);
  for (const char* id : {"IN-BOUND", "TR-CACHE", "RUN-FAILED"}) {
    EXPECT_TRUE(fired(advice, id)) << id;
  }
}

TEST(FactsOfARun, WhatNobodyMarkedIsMissingWithAReason) {
  const Facts facts = Generation({90, 90, 90, 90, 90, 90}).facts();
  for (const char* name :
       {"diffusion.frames_per_second", "diffusion.first_block_ratio", "streaming.frames_sent",
        "layers.top_share", "training.input_wait_share", "training.encode_share", "set.images"}) {
    EXPECT_EQ(facts.find(name), nullptr) << name;
    EXPECT_NE(facts.why_missing(name), "") << name;
  }
  EXPECT_EQ(number(facts, "requests.failed"), 0) << "the session went well";
  EXPECT_EQ(facts.find("set.training"), nullptr);
}

// Ranks of 1 s each: so many ms in an all-reduce, so many waiting for input.
genscope::Run run_of_ranks(const std::vector<std::pair<int, int>>& waits) {
  genscope::Run run = testing::make_run();
  for (std::size_t i = 0; i < waits.size(); ++i) {
    testing::TraceBuilder trace(static_cast<std::uint32_t>(100 + i));
    trace.span("train", SpanKind::session, 0, 1000 * kMs, {.flags = kSpanDetached});
    trace.span("all_reduce", SpanKind::task, 100 * kMs, waits[i].first * kMs);
    trace.span("data_wait", SpanKind::task, 700 * kMs, waits[i].second * kMs);
    trace.trace().process.rank = static_cast<int>(i);
    run.traces.push_back(trace.trace());
  }
  return run;
}

TEST(FactsOfARun, TheRankThatWaitsLeastIsTheStraggler) {
  const genscope::Run run = run_of_ranks({{300, 20}, {310, 20}, {20, 60}, {305, 20}});
  const Facts facts = facts_of(analyze(run));
  EXPECT_EQ(number(facts, "ranks.count"), 4);
  EXPECT_NEAR(number(facts, "ranks.wait_p50_share"), 0.3025, 1e-9);
  EXPECT_NEAR(number(facts, "ranks.wait_min_share"), 0.02, 1e-9);
  EXPECT_EQ(std::get<std::string>(*facts.find("ranks.straggler")), "2");
  EXPECT_NEAR(number(facts, "ranks.input_wait_ratio"), 3, 1e-9);
  EXPECT_EQ(std::get<std::string>(*facts.find("ranks.input_slowest")), "2");
  const Advice advice = advise(facts);
  EXPECT_TRUE(fired(advice, "RANK-SLOW"));
  EXPECT_TRUE(fired(advice, "RANK-INPUT"));
}

TEST(FactsOfARun, RanksThatWaitAlikeAndOneRankAloneGiveNoAdvice) {
  const genscope::Run alike = run_of_ranks({{300, 20}, {310, 21}, {290, 20}});
  const Advice advice = advise(facts_of(analyze(alike)));
  EXPECT_FALSE(fired(advice, "RANK-SLOW"));
  EXPECT_FALSE(fired(advice, "RANK-INPUT"));
  const genscope::Run one = run_of_ranks({{300, 20}});
  const Facts facts = facts_of(analyze(one));
  EXPECT_EQ(number(facts, "ranks.count"), 1);
  EXPECT_EQ(facts.why_missing("ranks.wait_min_share"), "the run has one rank");
}

TEST(FactsOfARun, AnEmptyRunHasNone) {
  const genscope::Run run = testing::make_run(testing::TraceBuilder().trace());
  const Advice advice = advise(facts_of(analyze(run)));
  EXPECT_TRUE(advice.findings.empty());
}

}  // namespace
}  // namespace genscope
