#include <genscope/analyze.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "analyze/compare/judge.h"
#include "analyze/compare/setting_place.h"
#include "analyze/testing/compared_runs.h"
#include "analyze/testing/trace_builder.h"
#include "testing/random.h"
#include "testing/units.h"

namespace genscope {
namespace {

using namespace testing::compared_runs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_run;
using ::testing::SizeIs;
using testing::TraceBuilder;

TEST(SettingPlace, KnowsSpellingsAndLeavesTheRestAlone) {
  using analysis::Place;
  using analysis::place_of;
  for (const char* key : {"steps", "set.steps", "num_inference_steps", "set.num_steps"}) {
    EXPECT_EQ(place_of(key).key, "steps") << key;
    EXPECT_TRUE(place_of(key).decisive) << key;
  }
  EXPECT_EQ(place_of("env.torch").key, "torch");
  EXPECT_EQ(place_of("env.torch").place, Place::environment);
  EXPECT_EQ(place_of("env.steps").place, Place::environment) << "a variable of that name";
  EXPECT_TRUE(place_of("model.arch[denoiser]").decisive);
  EXPECT_FALSE(place_of("model.dtype[denoiser]").decisive);
  EXPECT_EQ(place_of("set.attn").key, "attn");
  EXPECT_FALSE(place_of("lora.active").decisive);
  EXPECT_EQ(place_of("lora.active").place, Place::workload);
  EXPECT_EQ(place_of("colour").place, Place::other);
  EXPECT_EQ(place_of("set.seed").place, Place::other);
}

TEST(Compare, TellsWhatDiffersInHowTheRunsWereMade) {
  const Generation a{.texts = {{"env.torch", "2.4.0"},
                               {"dtype", "bf16"},
                               {"prompt", "a cat"},
                               {"set.attn", "sdpa"}},
                     .numbers = {{"seed", 1}, {"guidance", 7.5}}};
  const Generation b{.texts = {{"env.torch", "2.5.1"},
                               {"dtype", "fp16"},
                               {"prompt", "a dog"},
                               {"attention", "flash"}},
                     .numbers = {{"seed", 2}, {"guidance_scale", 7.5}}};
  genscope::Run after = b.run();
  after.host = "host-b";
  after.traces[0].process.version = "0.2.0";
  const Comparison c = compared(a.run(), after);
  EXPECT_THAT(keys(c.environment), ElementsAre("torch!", "genscope", "host"));
  EXPECT_THAT(keys(c.workload), ElementsAre("attn", "dtype"));
  EXPECT_THAT(keys(c.other), ElementsAre("prompt", "seed"));
  EXPECT_EQ(c.environment[0].before, "2.4.0");
  EXPECT_EQ(c.environment[0].after, "2.5.1");
  EXPECT_EQ(c.environment[1].before, std::nullopt);
  EXPECT_EQ(c.env_changes, 1u) << "neither a host's name nor genscope explains a time";
  EXPECT_THAT(c.incomparable, IsEmpty());
  EXPECT_FALSE(c.rows.empty());
}

TEST(Compare, ReadsTheMachineFromItsProbes) {
  const genscope::Run run = Generation{}.run();
  const auto with = [&](const std::string& gpu, const std::string& driver, int count) {
    Analysis analysis = analyze(run);
    for (int i = 0; i < count; ++i) {
      EntityRow row;
      row.entity = {EntityKind::gpu, "gpu-" + std::to_string(i), gpu, {{"driver", driver}}};
      analysis.telemetry.entities.push_back(row);
      analysis.telemetry.entities.push_back(row);  // two processes that saw the same device
    }
    EntityRow machine;
    machine.entity = {EntityKind::machine, "machine", "m", {{"cpu", "EPYC"}, {"kernel", "6.1"}}};
    analysis.telemetry.entities.push_back(machine);
    return analysis;
  };
  const Comparison c = compare(run, with("H100", "550", 1), run, with("H100", "560", 2));
  EXPECT_THAT(keys(c.environment), ElementsAre("driver!", "gpu!"));
  EXPECT_EQ(c.environment[1].before, "H100");
  EXPECT_EQ(c.environment[1].after, "2 x H100");
  const Comparison silent = compare(run, with("H100", "550", 1), run, analyze(run));
  EXPECT_THAT(keys(silent.environment), ElementsAre("cpu", "driver", "gpu", "kernel"));
  EXPECT_EQ(silent.env_changes, 0u) << "a run without probes does not say its hardware";
}

TEST(Compare, AVariableThatOneRunDidNotSetIsADifference) {
  const Generation a{.texts = {{"env.OMP_NUM_THREADS", "1"},
                               {"env.NCCL_DEBUG", "INFO"},
                               {"env.launch_blocking", "false"}}};
  const Generation b{.texts = {{"env.launch_blocking", "false"}}};
  const Comparison c = compared(a.run(), b.run());
  EXPECT_THAT(keys(c.environment), ElementsAre("OMP_NUM_THREADS!", "NCCL_DEBUG"));
  EXPECT_EQ(c.environment[0].after, "unset");
  EXPECT_EQ(compared(b.run(), a.run()).env_changes, 1u);
  const Comparison unknown = compared(a.run(), Generation{}.run());
  EXPECT_EQ(unknown.env_changes, 0u) << "not made by `genscope run`: it does not say";
}

TEST(Compare, RefusesOtherWorkUnlessForced) {
  const Generation a{.numbers = {{"steps", 20}, {"width", 512}}};
  const Generation b{.numbers = {{"num_inference_steps", 30}, {"width", 1024}}};
  const Comparison c = compared(a.run(), b.run());
  ASSERT_THAT(c.incomparable, SizeIs(1));
  EXPECT_THAT(c.incomparable[0],
              AllOf(HasSubstr("steps 20 against 30"), HasSubstr("width 512 against 1024")));
  EXPECT_THAT(c.rows, IsEmpty());
  EXPECT_EQ(c.before_after.before_seconds, std::nullopt);
  EXPECT_FALSE(c.forced);

  const Comparison forced = compared(a.run(), b.run(), {.force = true});
  EXPECT_TRUE(forced.forced);
  EXPECT_THAT(forced.incomparable, SizeIs(1));
  EXPECT_FALSE(forced.rows.empty());
  EXPECT_FALSE(compared(a.run(), a.run(), {.force = true}).forced) << "nothing had to be forced";
}

TEST(Compare, WhatOneRunDoesNotSayForbidsNothing) {
  const Generation a{.numbers = {{"width", 512}}};
  const Comparison c = compared(a.run(), Generation{}.run());
  EXPECT_THAT(keys(c.workload), ElementsAre("width"));
  EXPECT_THAT(c.incomparable, IsEmpty());
}

TEST(Compare, TheSameModelMayLieElsewhere) {
  const Generation a{.texts = {{"model", "/models/flux-dev/"}}};
  const Generation b{.texts = {{"model_id", "black-forest-labs/flux-dev"}}};
  const Generation other{.texts = {{"model", "/models/sdxl"}}};
  const Comparison c = compared(a.run(), b.run());
  EXPECT_THAT(keys(c.workload), ElementsAre("model"));
  EXPECT_THAT(c.incomparable, IsEmpty());
  EXPECT_THAT(compared(a.run(), other.run()).incomparable, SizeIs(1));
}

TEST(Compare, CountsStepsThatTheProgramDoesNotSay) {
  const Generation a{.step_ms = {5, 5, 5, 5}};
  const Generation b{.step_ms = {5, 5, 5, 5, 5, 5}};
  EXPECT_THAT(compared(a.run(), b.run()).incomparable, ElementsAre(HasSubstr("steps 4 against 6")));
  const Generation said{.numbers = {{"steps", 6}}, .step_ms = {5, 5, 5, 5}};
  EXPECT_THAT(compared(said.run(), b.run()).incomparable, IsEmpty()) << "what is said counts";

  // Loops of several lengths say nothing, nor do steps that no stage holds.
  TraceBuilder uneven, loose;
  for (std::int64_t i = 0; i < 5; ++i) {
    const auto loop = uneven.span("loop", SpanKind::stage, i * 100, 100);
    for (std::int64_t k = 0; k <= i; ++k) {
      uneven.span("step", SpanKind::step, i * 100 + k, 1, {.parent = loop});
    }
    loose.span("step", SpanKind::step, i * 100, 50);
  }
  EXPECT_THAT(compared(make_run(uneven.trace()), a.run()).incomparable, IsEmpty());
  EXPECT_THAT(compared(make_run(loose.trace()), a.run()).incomparable, IsEmpty());
}

TEST(Compare, RefusesRunsThatDidNotFinish) {
  const genscope::Run fine = Generation{}.run();
  genscope::Run failed = fine, killed = fine, running = fine, worker = fine;
  failed.exit_code = 3;
  killed.traces[0].integrity.closed = false;
  running.traces[0].integrity.closed = false;
  running.traces[0].integrity.in_progress = true;
  EXPECT_THAT(compared(fine, failed).incomparable,
              ElementsAre(AllOf(HasSubstr("second run"), HasSubstr("exit code 3"))));
  EXPECT_THAT(
      compared(killed, fine).incomparable,
      ElementsAre(AllOf(HasSubstr("first run"), HasSubstr("without closing its recording"))));
  EXPECT_THAT(compared(running, fine).incomparable, ElementsAre(HasSubstr("still runs")));

  worker.exit_code = 0;
  worker.traces.push_back(Trace{});
  const Comparison c = compared(fine, worker);
  EXPECT_THAT(c.incomparable, IsEmpty()) << "the command succeeded";
  EXPECT_THAT(c.notes, ::testing::Contains(HasSubstr("1 of 2 processes of the second run")));

  TraceBuilder t;
  t.span("gen", SpanKind::session, 0, 10, {.flags = kSpanDetached | kSpanFailed});
  EXPECT_THAT(compared(make_run(t.trace()), make_run(t.trace())).incomparable,
              ElementsAre(HasSubstr("1 of its sessions failed"), HasSubstr("second run")));
}

TEST(Compare, RefusesRunsWithNothingInCommon) {
  TraceBuilder a, b;
  a.span("encode", SpanKind::stage, 0, 10);
  b.span("encode", SpanKind::load, 0, 10);
  b.span("decode", SpanKind::stage, 10, 10);
  EXPECT_THAT(compared(make_run(a.trace()), make_run(b.trace())).incomparable,
              ElementsAre(HasSubstr("none of 1 names of spans is among the 2")));
  TraceBuilder silent;
  silent.counter("x", 0, 1).counter("x", 100, 2);
  const Comparison c = compared(make_run(a.trace()), make_run(silent.trace()));
  EXPECT_THAT(c.incomparable, IsEmpty()) << "the wall times can be compared";
  EXPECT_THAT(c.notes, ::testing::Contains(HasSubstr("second run has no spans")));
}

}  // namespace
}  // namespace genscope
