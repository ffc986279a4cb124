#include <genscope/analyze.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "analyze/compare/judge.h"
#include "analyze/testing/compared_runs.h"
#include "analyze/testing/trace_builder.h"
#include "testing/random.h"
#include "testing/units.h"
#include "trace/sample_names.h"

namespace genscope {
namespace {

using namespace testing::compared_runs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kMs;
using testing::make_run;
using ::testing::Not;
using ::testing::SizeIs;
using testing::TraceBuilder;
using ::testing::UnorderedElementsAre;

TEST(Compare, OneRunEachGivesFiguresAndNoVerdict) {
  Generation a, b;
  a.step_ms = {900, 300, 100, 101, 99, 100, 102, 98};
  b.step_ms = {800, 240, 80, 81, 79, 80, 82, 78};
  const Comparison c = compared(a.run(), b.run());
  const ChangeRow& steady = row_of(c, "steady step");
  EXPECT_EQ(steady.before_count, 6u) << "the first two are warm-up";
  EXPECT_EQ(steady.before, 100.0 * kMs);
  EXPECT_EQ(steady.after, 80.0 * kMs);
  EXPECT_NEAR(*steady.percent, -20, 1e-9);
  EXPECT_NEAR(*steady.factor, 1.25, 1e-9);
  EXPECT_GT(*steady.factor_low, 1.2);
  EXPECT_LT(*steady.factor_high, 1.3);
  EXPECT_EQ(steady.interval_over, IntervalOver::spans);
  for (const ChangeRow& row : c.rows) {
    EXPECT_EQ(row.judgement.verdict, Verdict::insufficient) << row.name;
  }
  EXPECT_EQ(c.judgement.verdict, Verdict::insufficient);
  EXPECT_EQ(c.headline,
            "No verdict: one run each. These runs differ by 15 % (1.85 s, 1.57 s). "
            "Record three of each, or use `genscope bench ab`.");
}

TEST(Compare, CpuTimeExplainsOneRunEach) {
  genscope::Run a = Generation{.decode_ms = 100}.run(), b = Generation{.decode_ms = 150}.run();
  a.cpu_ns = 700 * kMs;
  b.cpu_ns = 740 * kMs;
  const Comparison c = compared(a, b);
  EXPECT_NEAR(*c.judgement.cpu_explains, 0.8, 1e-9);
  EXPECT_THAT(c.headline, HasSubstr("; CPU time explains 80 % of it. Record three"));
  EXPECT_EQ(row_of(c, "CPU time").after, 740.0 * kMs);
  b.cpu_ns = 600 * kMs;
  EXPECT_THAT(compared(a, b).headline, HasSubstr("CPU time explains none of it"));
  b.cpu_ns = 900 * kMs;
  EXPECT_THAT(compared(a, b).headline, HasSubstr("CPU time explains all of it"));
  EXPECT_THAT(compared(a, a).headline,
              HasSubstr("These runs took the same time (901 ms, 901 ms)."));
}

TEST(Compare, SeveralRunsASideAreJudgedByRuns) {
  const Comparison c = noisy_sides(6, 1.2, 1).compare();
  EXPECT_EQ(c.total, "wall time");
  EXPECT_EQ(c.judgement.verdict, Verdict::regressed) << c.headline;
  EXPECT_EQ(c.judgement.before_n, 6u);
  EXPECT_TRUE(c.interleaved);
  EXPECT_FALSE(c.judgement.drift_unprotected);
  const ChangeRow& steady = row_of(c, "steady step");
  EXPECT_EQ(steady.before_runs, 6u);
  EXPECT_EQ(steady.before_count, 48u);
  EXPECT_EQ(steady.interval_over, IntervalOver::runs);
  EXPECT_EQ(steady.judgement.verdict, Verdict::regressed);
  EXPECT_EQ(row_of(c, "vae_decode").judgement.verdict, Verdict::unchanged);
  EXPECT_THAT(c.headline,
              AllOf(HasSubstr("Regressed. Wall time: "), HasSubstr("6 runs of each"),
                    HasSubstr("beyond the floor of 2 %"),
                    HasSubstr("By row: steady step regressed by "), HasSubstr(" %, denoise")));
  ASSERT_EQ(c.before.size(), 6u);
  EXPECT_GT(*c.before[5].total_ns, 8e9);
}

TEST(Compare, ThreeAgainstThreeFindAChangeOfTheStepsAndOfTheDecoder) {
  const Comparison steps = noisy_sides(3, 1.2, 1).compare();
  EXPECT_EQ(steps.judgement.verdict, Verdict::regressed) << steps.headline;
  EXPECT_EQ(steps.judgement.method, JudgeMethod::student);
  const Comparison decoder = noisy_sides(3, 1, 1.2).compare();
  EXPECT_EQ(row_of(decoder, "vae_decode").judgement.verdict, Verdict::regressed);
  EXPECT_NE(row_of(decoder, "steady step").judgement.verdict, Verdict::regressed);
  EXPECT_THAT(decoder.headline, HasSubstr("vae_decode regressed by 2"));
  EXPECT_EQ(noisy_sides(2, 1.2, 1).compare().judgement.verdict, Verdict::insufficient);
  EXPECT_EQ(noisy_sides(3, 0.8, 1).compare().judgement.verdict, Verdict::improved);
}

TEST(Compare, UnchangedRunsSeldomGetAVerdict) {
  int called = 0, rows = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const Comparison c =
        noisy_sides(3, 1, 1, static_cast<std::uint64_t>(100 + round)).compare({.noise_floor = 0});
    const auto moved = [](const Judgement& j) {
      return j.verdict == Verdict::regressed || j.verdict == Verdict::improved;
    };
    called += moved(c.judgement) ? 1 : 0;
    rows += std::any_of(c.rows.begin(), c.rows.end(), [&](const ChangeRow& row) {
      return row.kind != "run" && moved(row.judgement);
    });
  }
  EXPECT_LE(called, kRounds * 8 / 100) << "5 % without a floor, and two standard errors";
  EXPECT_LE(rows, kRounds * 12 / 100) << "in any row: two families of 5 %";
}

TEST(Compare, TheDifferenceIsAttributedAndAddsUp) {
  const Comparison c = noisy_sides(4, 1.2, 0.5).compare();
  ASSERT_TRUE(c.attribution);
  double sum = 0;
  for (const PartChange& part : c.attribution->parts) sum += part.difference;
  EXPECT_NEAR(sum, c.attribution->total.difference, 1e-9);
  EXPECT_EQ(c.attribution->parts[0].name, "denoise") << "the largest first";
  EXPECT_EQ(c.attribution->parts.back().name, "outside");
  ASSERT_THAT(c.attribution->parts[0].of, SizeIs(2));
  EXPECT_NEAR(c.attribution->parts[0].of[1].difference, 1.6, 0.2) << "8 steps, each 0.2 s longer";
  EXPECT_NEAR(c.attribution->parts[1].difference, -0.5, 0.05);
}

TEST(Compare, TheSlowerMachineIsAVerdict) {
  Sides sides = noisy_sides(6, 1.2, 1.2);
  Comparer comparer;
  const auto add = [&](genscope::Run run, bool before) {
    Analysis analysis = analyze(run);
    const double wall = static_cast<double>(analysis.wall_ns);
    run.cpu_ns = std::llround(wall / (before ? 1 : 1.2));
    run.cpu_wait_ns = std::llround(before ? 0 : wall - wall / 1.2);
    EntityRow machine;
    machine.entity = {EntityKind::machine, "machine", "m", {}};
    machine.series.resize(2);
    machine.series[0].metric = trace::metric_of("cpu_busy_ratio", nullptr);
    machine.series[0].mean = 0.9;
    machine.series[1].metric = trace::metric_of("cpu_count", nullptr);
    machine.series[1].max = 2;
    for (SeriesRow& series : machine.series) series.count = 9;
    analysis.telemetry.entities.push_back(machine);
    before ? comparer.add_before(run, analysis) : comparer.add_after(run, analysis);
  };
  for (const genscope::Run& run : sides.before) add(run, true);
  for (const genscope::Run& run : sides.after) add(run, false);
  const Comparison c = comparer.finish();
  EXPECT_EQ(c.judgement.verdict, Verdict::slower_machine) << c.headline;
  EXPECT_THAT(c.headline, HasSubstr("Slower machine. Wall time: same work, slower machine on the "
                                    "second side"));
  for (const ChangeRow& row : c.rows) {
    EXPECT_NE(row.judgement.verdict, Verdict::regressed) << row.name;
  }
}

TEST(Compare, RunsOneAfterTheOtherAreDoubted) {
  Sides sides = noisy_sides(4, 1.2, 1);
  for (genscope::Run& run : sides.after) run.started_unix_ns += 1000;
  const Comparison c = sides.compare();
  EXPECT_FALSE(c.interleaved);
  EXPECT_THAT(c.notes, ::testing::Contains(HasSubstr("The sides ran one after the other")));
}

TEST(Compare, ASideIsOfOneWorkAndEachRunCountsOnce) {
  Sides sides;
  sides.add({.numbers = {{"width", 512}}}, {.numbers = {{"width", 512}}});
  sides.add({.numbers = {{"width", 1024}}}, {.numbers = {{"width", 512}}});
  const Comparison c = sides.compare();
  EXPECT_THAT(c.incomparable,
              ::testing::Contains(
                  HasSubstr("The runs of the first side did different work: width 512 / 1024")));
  EXPECT_EQ(c.judgement.verdict, Verdict::incomparable);
  Sides twice = noisy_sides(3, 1, 1);
  twice.before[2] = twice.before[0];
  EXPECT_THAT(twice.compare().incomparable, ElementsAre(HasSubstr("is given twice")));
  Sides failed = noisy_sides(3, 1, 1);
  failed.after[1].exit_code = 3;
  EXPECT_THAT(failed.compare().incomparable,
              ElementsAre(HasSubstr("The run 2 of the second side (runs/test) did not finish")));
}

TEST(Compare, ASlowStepDoesNotHideInTheMedian) {
  Generation a{.step_ms = {}, .decode_ms = 1}, b = a;
  for (int i = 0; i < 12; ++i) {
    a.step_ms.push_back(75 + i % 3);
    b.step_ms.push_back(i == 6 ? 600 : 57 + i % 3);
  }
  const Comparison c = compared(a.run(), b.run());
  EXPECT_LT(*row_of(c, "steady step").percent, -20);
  EXPECT_GT(*row_of(c, "wall time").percent, 30);
  EXPECT_THAT(c.headline,
              AllOf(HasSubstr("No verdict"), HasSubstr("differ by"), Not(HasSubstr("faster"))));
}

TEST(Compare, StepsOfTwoSizesAreTwoSeries) {
  const auto run = [](std::int64_t small, std::int64_t large) {
    TraceBuilder t;
    std::int64_t at = 0;
    for (int i = 0; i < 4; ++i) {
      const bool is_large = i % 2 == 1;
      const std::int64_t each = is_large ? large : small;
      const auto request = t.span("FluxPipeline", SpanKind::request, at, 6 * each);
      t.arg(request, "width", ArgType::float64,
            std::bit_cast<std::uint64_t>(is_large ? 1024.0 : 512.0));
      const auto loop = t.span("denoise", SpanKind::stage, at, 6 * each, {.parent = request});
      for (int k = 0; k < 6; ++k) {
        t.span("step", SpanKind::step, at, each + k, {.parent = loop});
        at += each;
      }
    }
    return make_run(t.trace());
  };
  const Comparison c = compared(run(1000, 4000), run(2000, 3000));
  EXPECT_GT(*row_of(c, "steady step of denoise of FluxPipeline (width 512)").percent, 90);
  EXPECT_LT(*row_of(c, "steady step of denoise of FluxPipeline (width 1024)").percent, -20);
  EXPECT_GT(*row_of(c, "step (width 512)").percent, 90);
  for (const ChangeRow& row : c.rows) {
    EXPECT_NE(row.name, "steady step");
    EXPECT_NE(row.name, "step");
    EXPECT_NE(row.name, "all requests");
  }
}

TEST(Compare, RefusesOtherProgramsWithNoStageInCommon) {
  TraceBuilder silent;
  silent.counter("x", 0, 1).counter("x", 100, 2);
  genscope::Run a = make_run(silent.trace()), b = a;
  a.command = {"/usr/bin/sleep", "1"};
  b.command = {"/bin/ls"};
  EXPECT_THAT(compared(a, b).incomparable, ElementsAre(HasSubstr("programs, sleep and ls")));
  b.command = {"build/other/sleep", "2"};
  EXPECT_THAT(compared(a, b).incomparable, IsEmpty()) << "two builds of one program";
  a.command = {"python3.11", "a.py"};
  b.command = {"python3", "b.py"};
  EXPECT_THAT(compared(a, b).incomparable, IsEmpty());
  genscope::Run other = Generation{}.run();
  other.command = {"renamed"};
  EXPECT_THAT(compared(Generation{}.run(), other).incomparable, IsEmpty()) << "stages in common";
}

TEST(Compare, OnePairIsNoVerdictHoweverFar) {
  const Generation a{.step_ms = {}, .decode_ms = 100}, b{.step_ms = {}, .decode_ms = 1};
  const Comparison c = compared(a.run(), b.run());
  EXPECT_NEAR(*row_of(c, "vae_decode").factor, 100, 1e-9);
  EXPECT_EQ(row_of(c, "vae_decode").factor_low, std::nullopt);
  EXPECT_EQ(c.judgement.verdict, Verdict::insufficient);
  EXPECT_THAT(c.headline, HasSubstr("These runs differ by 99 % (100 ms, 1.00 ms)."));
  EXPECT_THAT(compared(b.run(), a.run()).headline,
              HasSubstr("differ 100 times (1.00 ms, 100 ms)."));
}

TEST(Compare, FewerThanFourAgainstFourGiveNoInterval) {
  const analysis::Sample three = sample_of({1, 1, 1}), more = sample_of({2, 2, 2, 2});
  EXPECT_FALSE(analysis::ratio_of(three, three));
  EXPECT_FALSE(analysis::ratio_of(three, more)) << "94.3 %";
  EXPECT_TRUE(analysis::ratio_of(more, more));
  EXPECT_TRUE(analysis::ratio_of(three, sample_of({2, 2, 2, 2, 2})));
  EXPECT_FALSE(analysis::ratio_of(sample_of({1, 1}), sample_of(std::vector<double>(900, 2))));
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
  EXPECT_EQ(c.total, "request");
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
  tree.series[0].metric = trace::metric_of("rss_bytes", nullptr);
  tree.series[0].count = 9;
  tree.series[0].max = 4096;
  watched.telemetry.entities.push_back(tree);
  const Comparison c = compare(before, watched, after, analyze(after));
  EXPECT_EQ(row_verdict(row_of(c, "old")), "vanished");
  EXPECT_EQ(row_verdict(row_of(c, "new")), "appeared");
  EXPECT_EQ(row_verdict(row_of(c, "both")), "not measured") << "it is there, and failed";
  EXPECT_EQ(row_of(c, "both").after, std::nullopt);
  const ChangeRow& rss = row_of(c, "peak RSS");
  EXPECT_EQ(rss.before, 4096);
  EXPECT_EQ(rss.after, std::nullopt) << "no probe, no figure: never 0";
  EXPECT_EQ(row_verdict(rss), "not measured");
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
  EXPECT_NEAR(*row_of(c, "energy").percent, -25, 1e-9);
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
  EXPECT_GT(*row_of(c, "all requests").percent, 90);
  EXPECT_EQ(c.total, "request");
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
    EXPECT_EQ(c.judgement.verdict, Verdict::insufficient);
  }
  const Comparison nothing = compare({}, {}, {}, {});
  EXPECT_THAT(nothing.rows, IsEmpty());
  EXPECT_EQ(nothing.judgement.verdict, Verdict::insufficient);
}

TEST(Compare, SaysWhenTheWorkIsNotKnown) {
  TraceBuilder t;
  t.span("stage", SpanKind::stage, 0, 10);
  genscope::Run run = make_run(t.trace());
  EXPECT_THAT(compared(run, run).notes,
              UnorderedElementsAre(HasSubstr("same run"), HasSubstr("Neither run says")));
  genscope::Run other = run;
  other.id = "1";
  other.traces[0].tracks[0].dropped_spans = 7;
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
