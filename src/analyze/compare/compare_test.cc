#include <genscope/compare.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "analyze/compare/judge.h"
#include "analyze/compare/setting_place.h"
#include "analyze/testing/trace_builder.h"
#include "testing/random.h"

namespace genscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_run;
using ::testing::Not;
using ::testing::SizeIs;
using testing::TraceBuilder;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kMs = 1'000'000;

using Texts = std::vector<std::pair<std::string, std::string>>;

// A generation: a session with arguments, a stage, and steps of these lengths in it.
struct Generation {
  Texts texts = {};
  std::vector<std::pair<std::string, double>> numbers = {};
  std::vector<std::int64_t> step_ms = {100, 101, 99, 100, 102, 98, 100, 101};
  std::int64_t decode_ms = 50;

  Trace trace() const {
    TraceBuilder t;
    const std::int64_t total = decode_ms + sum();
    const auto session = t.span("gen", SpanKind::session, 0, total * kMs, {.flags = kSpanDetached});
    for (const auto& [key, value] : texts) t.arg(session, key, ArgType::text, 0, value);
    for (const auto& [key, value] : numbers) {
      t.arg(session, key, ArgType::float64, std::bit_cast<std::uint64_t>(value));
    }
    const auto loop = t.span("denoise", SpanKind::stage, 0, sum() * kMs);
    std::int64_t at = 0;
    for (const std::int64_t ms : step_ms) {
      t.span("step", SpanKind::step, at * kMs, ms * kMs, {.parent = loop});
      at += ms;
    }
    t.span("vae_decode", SpanKind::stage, at * kMs, decode_ms * kMs);
    return t.trace();
  }
  Run run() const { return make_run(trace()); }

 private:
  std::int64_t sum() const {
    std::int64_t all = 0;
    for (const std::int64_t ms : step_ms) all += ms;
    return all;
  }
};

Comparison compared(const Run& before, const Run& after, const CompareOptions& options = {}) {
  return compare(before, analyze(before), after, analyze(after), options);
}

const ChangeRow& row_of(const Comparison& comparison, std::string_view name) {
  static const ChangeRow kMissing;
  for (const ChangeRow& row : comparison.rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return kMissing;
}

std::vector<std::string> keys(const std::vector<Difference>& list) {
  std::vector<std::string> out;
  for (const Difference& d : list) out.push_back(d.key + (d.decisive ? "!" : ""));
  return out;
}

analysis::Sample sample_of(const std::vector<double>& values) {
  analysis::Sample sample;
  sample.count = values.size();
  for (const double value : values) sample.logs.push_back(std::log(value));
  std::sort(sample.logs.begin(), sample.logs.end());
  return sample;
}

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
  EXPECT_THAT(compared(killed, fine).incomparable,
              ElementsAre(AllOf(HasSubstr("first run"), HasSubstr("killed"))));
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

TEST(Compare, JudgesTheSteadySteps) {
  Generation a, b;
  a.step_ms = {900, 300, 100, 101, 99, 100, 102, 98};
  b.step_ms = {800, 240, 80, 81, 79, 80, 82, 78};
  const Comparison c = compared(a.run(), b.run());
  const ChangeRow& steady = row_of(c, "steady step");
  EXPECT_EQ(steady.before_count, 6u) << "the first two are warm-up";
  EXPECT_EQ(steady.before, 100.0 * kMs);
  EXPECT_EQ(steady.after, 80.0 * kMs);
  EXPECT_DOUBLE_EQ(*steady.percent, -20);
  EXPECT_DOUBLE_EQ(*steady.factor, 1.25);
  EXPECT_GT(*steady.factor_low, 1.2);
  EXPECT_LT(*steady.factor_high, 1.3);
  EXPECT_EQ(steady.change, Change::faster);
  EXPECT_EQ(c.verdict, Change::faster);
  EXPECT_THAT(c.reason, AllOf(HasSubstr("from 100 ms to 80 ms, 1.25 times as fast"),
                              HasSubstr("6 and 6 steady steps of these two runs, not other runs"),
                              HasSubstr("one run each: record several of each, in turns")));
  EXPECT_EQ(compared(b.run(), a.run()).verdict, Change::slower);
  EXPECT_THAT(compared(b.run(), a.run()).reason, HasSubstr("1.25 times as long"));
  EXPECT_EQ(compared(a.run(), a.run(), {.noise_floor = 0.1}).verdict, Change::same);
  EXPECT_EQ(compared(a.run(), b.run(), {.noise_floor = 0.2}).verdict, Change::inconclusive);
  EXPECT_EQ(compared(a.run(), b.run(), {.noise_floor = 0.5}).verdict, Change::same);
}

TEST(Compare, OnePairIsNoVerdictHoweverFar) {
  const Generation a{.step_ms = {}, .decode_ms = 100}, b{.step_ms = {}, .decode_ms = 1};
  const Comparison c = compared(a.run(), b.run());
  EXPECT_EQ(row_of(c, "vae_decode").factor, 100);
  EXPECT_EQ(row_of(c, "vae_decode").change, Change::inconclusive);
  EXPECT_EQ(row_of(c, "vae_decode").factor_low, std::nullopt);
  EXPECT_EQ(row_of(c, "wall time").change, Change::inconclusive);
  EXPECT_EQ(c.verdict, Change::inconclusive);
  EXPECT_THAT(c.reason, AllOf(HasSubstr("from 100 ms to 1 ms, a single pair"),
                              HasSubstr("one run each: record several of each, in turns")));
}

TEST(Compare, FewerThanFourAgainstFourGiveNoInterval) {
  const analysis::Sample three = sample_of({1, 1, 1}), more = sample_of({2, 2, 2, 2});
  EXPECT_FALSE(analysis::ratio_of(three, three));
  EXPECT_FALSE(analysis::ratio_of(three, more)) << "94.3 %";
  EXPECT_TRUE(analysis::ratio_of(more, more));
  EXPECT_TRUE(analysis::ratio_of(three, sample_of({2, 2, 2, 2, 2})));
  EXPECT_FALSE(analysis::ratio_of(sample_of({1, 1}), sample_of(std::vector<double>(900, 2))));
}

TEST(Compare, TheNoiseFloorDecides) {
  using analysis::judge;
  EXPECT_EQ(judge(analysis::Ratio{0.90, 0.97}, 0.02), Change::faster);
  EXPECT_EQ(judge(analysis::Ratio{0.90, 0.98}, 0.02), Change::inconclusive);
  EXPECT_EQ(judge(analysis::Ratio{0.98, 1.02}, 0.02), Change::same);
  EXPECT_EQ(judge(analysis::Ratio{0.97, 1.00}, 0.02), Change::inconclusive);
  EXPECT_EQ(judge(analysis::Ratio{1.02, 1.10}, 0.02), Change::inconclusive);
  EXPECT_EQ(judge(analysis::Ratio{1.03, 1.10}, 0.02), Change::slower);
  EXPECT_EQ(judge(analysis::Ratio{0.97, 1.10}, 0.02), Change::inconclusive);
  EXPECT_EQ(judge(std::nullopt, 0.02), Change::inconclusive);
}

TEST(Compare, RunsOfOneDistributionSeldomGetAVerdict) {
  testing::Random random(7);
  const auto draw = [&] {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i) {
      const double u = static_cast<double>(random.below(1'000'000)) / 1e6;
      values.push_back(100 * std::exp(0.2 * u * u));
    }
    return sample_of(values);
  };
  int wrong = 0;
  constexpr int kPairs = 1000;
  for (int i = 0; i < kPairs; ++i) {
    const Change change = analysis::judge(analysis::ratio_of(draw(), draw()), 0);
    wrong += change == Change::faster || change == Change::slower ? 1 : 0;
  }
  EXPECT_LT(wrong, kPairs * 7 / 100);  // 5 % and three standard errors
  EXPECT_GT(wrong, kPairs * 2 / 100) << "an interval that is never wrong is too wide";
}

TEST(Compare, FailedAndUnfinishedSpansAreLeftOut) {
  const auto requests = [](int failed) {
    TraceBuilder t;
    for (int i = 0; i < 10; ++i) {
      t.span("r", SpanKind::request, i * 100, i < failed ? 1 : 100,
             {.flags = static_cast<std::uint8_t>(i < failed ? kSpanFailed : 0)});
    }
    t.span("r", SpanKind::request, 1000, 5000, {.flags = kSpanUnfinished});
    return make_run(t.trace());
  };
  const Comparison c = compared(requests(0), requests(6));
  const ChangeRow& row = row_of(c, "r");
  EXPECT_EQ(row.before_count, 10u);
  EXPECT_EQ(row.after_count, 4u);
  EXPECT_EQ(row.after, 100) << "requests that fail at once make nothing faster";
  EXPECT_EQ(row.change, Change::same);
  EXPECT_EQ(c.verdict, Change::same);
  EXPECT_THAT(c.notes, ::testing::Contains(HasSubstr("second run 6 of 10 spans of kind request")));
  EXPECT_THAT(compared(requests(0), requests(10)).incomparable,
              ElementsAre(HasSubstr("10 of its requests failed")));
}

TEST(Compare, TellsWhatAppearedAndWhatIsNotMeasured) {
  TraceBuilder a, b;
  a.span("both", SpanKind::stage, 0, 10);
  a.span("old", SpanKind::stage, 10, 10);
  b.span("both", SpanKind::stage, 0, 10, {.flags = kSpanFailed});
  b.span("new", SpanKind::stage, 10, 10);
  const genscope::Run before = make_run(a.trace()), after = make_run(b.trace());
  Analysis watched = analyze(before);
  EntityRow tree;
  tree.entity = {EntityKind::process_tree, "tree", "tree", {}};
  tree.series.resize(1);
  tree.series[0].metric = find_metric("rss_bytes");
  tree.series[0].count = 9;
  tree.series[0].max = 4096;
  watched.telemetry.entities.push_back(tree);
  const Comparison c = compare(before, watched, after, analyze(after));
  EXPECT_EQ(row_of(c, "old").change, Change::vanished);
  EXPECT_EQ(row_of(c, "new").change, Change::appeared);
  EXPECT_EQ(row_of(c, "both").change, Change::inconclusive) << "it is there, and failed";
  EXPECT_EQ(row_of(c, "both").after, std::nullopt);
  const ChangeRow& rss = row_of(c, "peak RSS");
  EXPECT_EQ(rss.before, 4096);
  EXPECT_EQ(rss.after, std::nullopt) << "no probe, no figure: never 0";
  EXPECT_EQ(rss.change, Change::inconclusive);
  EXPECT_EQ(rss.kind, "memory");
}

TEST(Compare, EnergyComesWithItsCoverage) {
  const genscope::Run run = Generation{}.run();
  const auto with = [&](double joules, double covered) {
    Analysis analysis = analyze(run);
    EntityRow gpu;
    gpu.entity = {EntityKind::gpu, "gpu-0", "H100", {}};
    gpu.energy.emplace();
    gpu.energy->joules = joules;
    gpu.energy->covered_seconds = covered;
    gpu.energy->uncovered_seconds = 10 - covered;
    analysis.telemetry.entities.push_back(gpu);
    analysis.resources.energy.push_back({"image", 4, joules / 4, covered / 10});
    return analysis;
  };
  const Comparison c = compare(run, with(400, 10), run, with(300, 5));
  EXPECT_EQ(row_of(c, "energy").percent, -25);
  EXPECT_EQ(row_of(c, "energy per image").after, 75);
  EXPECT_EQ(row_of(c, "energy per image").unit, "joules");
  EXPECT_THAT(c.notes, ::testing::Contains(HasSubstr("second run has energy readings for 50 %")));
  EXPECT_THAT(c.notes, Not(::testing::Contains(HasSubstr("first run has energy"))));
}

TEST(Compare, ManyNamesOfAKindAreAlsoTakenTogether) {
  const auto server = [](std::int64_t ns) {
    TraceBuilder t;
    for (int i = 0; i < 300; ++i) {
      t.span("request " + std::to_string(i), SpanKind::request, i * ns, ns + i % 3);
    }
    return make_run(t.trace());
  };
  const Comparison c = compared(server(1000), server(2000));
  EXPECT_EQ(row_of(c, "all requests").before_count, 300u);
  EXPECT_EQ(row_of(c, "all requests").change, Change::slower);
  EXPECT_EQ(c.verdict, Change::slower);
  EXPECT_EQ(c.rows_left_out, 100u);
  EXPECT_THAT(c.rows, SizeIs(2 + 200)) << "wall, all requests, and the 200 with the most time";
}

TEST(Compare, Document000sFigures) {
  const auto generation = [](std::int64_t ms) {
    TraceBuilder t;
    const auto r = t.span("r", SpanKind::request, 0, ms * 20 * kMs);
    for (int i = 0; i < 20; ++i) {
      t.span("step", SpanKind::step, i * ms * kMs, ms * kMs, {.parent = r});
    }
    return make_run(t.trace());
  };
  const BeforeAfter b =
      compared(generation(800), generation(120), {.target_seconds = 5}).before_after;
  EXPECT_DOUBLE_EQ(*b.before_seconds, 16);
  EXPECT_DOUBLE_EQ(*b.after_seconds, 2.4);
  EXPECT_DOUBLE_EQ(*b.before_step_seconds, 0.8);
  EXPECT_DOUBLE_EQ(*b.total_time_percent, 85);
  EXPECT_DOUBLE_EQ(*b.per_step_time_percent, 85);
  EXPECT_NEAR(*b.improvement_factor, 6.67, 0.01);
  EXPECT_DOUBLE_EQ(*b.before_score, 31.25);
  EXPECT_DOUBLE_EQ(*b.after_score, 100);
  EXPECT_EQ(b.faster, true);
  EXPECT_EQ(b.significant_improvement, true);
  EXPECT_EQ(b.target_status_change, true);
  EXPECT_EQ(b.meets_target_now, true);

  const BeforeAfter half = compared(generation(800), generation(400)).before_after;
  EXPECT_EQ(half.significant_improvement, false) << "over 50 %, not 50";
  EXPECT_EQ(half.after_score, std::nullopt) << "no target, no score";
  EXPECT_EQ(half.target_status_change, std::nullopt);
}

TEST(Compare, ATimeOfZeroIsAbsentAndDividesNothing) {
  TraceBuilder t;
  t.span("r", SpanKind::request, 5, 0);
  t.span("step", SpanKind::step, 5, 0);
  const genscope::Run zero = make_run(t.trace());
  for (const auto& [a, b] : {std::pair(zero, Generation{}.run()), std::pair(zero, zero)}) {
    const Comparison c = compared(a, b, {.target_seconds = 5});
    EXPECT_EQ(c.before_after.before_seconds, std::nullopt);
    EXPECT_EQ(c.before_after.total_time_percent, std::nullopt);
    EXPECT_EQ(c.before_after.before_score, std::nullopt);
    EXPECT_EQ(row_of(c, "step").factor, std::nullopt);
    EXPECT_EQ(c.verdict, Change::inconclusive);
  }
  const Comparison nothing = compare({}, {}, {}, {});
  EXPECT_THAT(nothing.rows, IsEmpty());
  EXPECT_EQ(nothing.verdict, Change::inconclusive);
}

TEST(Compare, SaysWhenTheWorkIsNotKnown) {
  TraceBuilder t;
  t.span("stage", SpanKind::stage, 0, 10);
  genscope::Run run = make_run(t.trace());
  EXPECT_THAT(compared(run, run).notes,
              UnorderedElementsAre(HasSubstr("same run"), HasSubstr("Neither run says")));
  genscope::Run other = run;
  other.id = "1";
  other.traces[0].tracks[0].lost_spans = 7;
  EXPECT_THAT(compared(run, other).notes,
              UnorderedElementsAre(HasSubstr("Neither run says"), HasSubstr("dropped 7 spans")));
}

TEST(Compare, SaysWhenStepsVaryMuch) {
  Generation noisy, calm;
  noisy.step_ms = {100, 160, 120, 90, 150, 100, 140, 95, 130, 105};
  calm.step_ms = {100, 101, 99, 100, 102, 98, 100, 101, 99, 400};
  const std::vector<std::string> notes = compared(calm.run(), noisy.run()).notes;
  EXPECT_THAT(notes, ::testing::Contains(
                         AllOf(HasSubstr("second run vary much"), HasSubstr("takes 40 % more"))));
  EXPECT_THAT(notes, Not(::testing::Contains(HasSubstr("first run vary"))));
}

}  // namespace
}  // namespace genscope
