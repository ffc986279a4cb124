#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/printable.h"
#include "report/screen_facts.h"
#include "report/testing/advice.h"
#include "report/testing/sample.h"
#include "report/testing/sampled.h"

namespace genscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string headline_of(const genscope::Run& run, const Advice& advice = {}) {
  return headline(run, analyze(run), advice);
}

std::string screen_of(const genscope::Run& run, ScreenOptions options = {},
                      const Advice& advice = {}) {
  const Analysis analysis = analyze(run);
  return testing::written(
      [&](const Sink& sink) { report_screen(run, analysis, advice, options, sink); });
}

TEST(Headline, NamesTheStageItsShareAndItsSteps) {
  testing::TraceBuilder t;
  const auto stage = t.span("denoising", SpanKind::stage, 0, 900 * testing::kMs);
  for (int i = 0; i < 3; ++i) {
    t.span("step", SpanKind::step, i * 300 * testing::kMs, 300 * testing::kMs, {.parent = stage});
  }
  t.span("vae_decode", SpanKind::stage, 900 * testing::kMs, 100 * testing::kMs);
  const auto run = testing::make_run(t.trace());
  EXPECT_EQ(headline_of(run), "Denoising took 90% of 1.00 s: 3 steps of 300 ms. No findings.");
  EXPECT_THAT(headline_of(run, testing::sample_advice()), HasSubstr(" 3 findings."));
}

TEST(Headline, SaysHowARunEndedIfNotWell) {
  testing::TraceBuilder t;
  t.span("vae_decode", SpanKind::stage, 0, 1250 * testing::kMs);
  auto run = testing::make_run(t.trace());
  run.exit_code = 1;
  EXPECT_EQ(headline_of(run),
            "Failed (exit 1) after 1.25 s; vae_decode took 100% of that. No findings.");
  run.exit_code = 137;
  EXPECT_THAT(headline_of(run), StartsWith("Killed (SIGKILL) after 1.25 s; "));
  run.last_words = {"Traceback (most recent call last):", "ValueError: boom"};
  EXPECT_THAT(headline_of(run), HasSubstr(" Last on stderr: ValueError: boom. "));
  EXPECT_THAT(screen_of(run), HasSubstr("stderr  Traceback (most recent call last):\n"));
  Analysis analysis = analyze(run);
  analysis.resources.host.oom_kills = 1;
  EXPECT_THAT(headline(run, analysis, {}), HasSubstr(" Memory ran out: the kernel says so. "));
  run.exit_code = 130;
  EXPECT_THAT(headline_of(run), StartsWith("Interrupted (SIGINT) after 1.25 s; "));
  run.exit_code.reset();
  run.traces[0].integrity.closed = false;
  EXPECT_THAT(headline_of(run), StartsWith("Ended without closing its recording after 1.25 s; "));
  run.traces[0].integrity.in_progress = true;
  EXPECT_THAT(headline_of(run), StartsWith("Still running after 1.25 s; "));
}

TEST(Headline, NamesWaitingForACpuAndMemoryThatGrows) {
  testing::TraceBuilder t;
  t.span("load", SpanKind::load, 0, 1000 * testing::kMs);
  auto run = testing::make_run(t.trace());
  run.cpu_wait_ns = 600 * testing::kMs;
  EXPECT_EQ(headline_of(run), "Its main thread waited for a CPU 60% of 1.00 s. No findings.");
  EXPECT_THAT(headline_of(testing::make_run(testing::sampled_trace())),
              HasSubstr("Memory grew by 9.54 MiB a second."));
}

TEST(Headline, SaysWhoElseUsedTheCpus) {
  testing::TraceBuilder t;
  t.span("load", SpanKind::load, 0, 1000 * testing::kMs);
  testing::add_entity(t, EntityKind::machine, "machine");
  t.counter("machine/cpu_count", 0, 2);
  const auto run = testing::make_run(t.trace());
  Analysis analysis = analyze(run);
  analysis.resources.time.ready_share = 0.2;
  EXPECT_EQ(headline(run, analysis, {}), "Load took 100% of 1.00 s. No findings.");
  analysis.resources.time.ready_share = 0.6;
  EXPECT_EQ(headline(run, analysis, {}), "Waited for a CPU 60% of 1.00 s. No findings.");
  analysis.resources.host.cpus = 2;
  analysis.resources.host.other_cores = 1.85;
  EXPECT_EQ(headline(run, analysis, {}),
            "Waited for a CPU 60% of 1.00 s: other programs used 1.85 of 2 cores. No findings.");
  analysis.resources.host.cpus = 0.5;
  analysis.resources.host.throttled_share = 0.4;
  analysis.resources.host.other_cores = 0.1;
  EXPECT_EQ(
      headline(run, analysis, {}),
      "Waited for a CPU 60% of 1.00 s: its quota of 0.5 CPUs held it back 40% of the time. No "
      "findings.");
}

TEST(Headline, AndTheScreenSayOneShareOfWaiting) {
  testing::TraceBuilder t;
  t.span("load", SpanKind::load, 0, 1000 * testing::kMs);
  auto run = testing::make_run(t.trace());
  run.cpu_ns = 500'000'000;
  run.cpu_wait_ns = 400'000'000;  // of its main thread
  Analysis analysis = analyze(run);
  const auto cpu_of_screen = [&] {
    for (const report::ScreenFact& fact : report::screen_facts(run, analysis)) {
      if (fact.label == std::string_view("CPU")) return fact.text;
    }
    return std::string();
  };
  EXPECT_THAT(headline(run, analysis, {}), HasSubstr("Its main thread waited for a CPU 40% of"));
  EXPECT_THAT(cpu_of_screen(), HasSubstr(", main thread waited 40.0% of the time"));
  analysis.resources.time.ready_share = 0.6;
  EXPECT_THAT(headline(run, analysis, {}), HasSubstr("Waited for a CPU 60% of"));
  EXPECT_THAT(cpu_of_screen(), HasSubstr(", waited for one 60.0% of the time"));
}

TEST(Headline, SaysWhenNothingIsMarkedOrRecorded) {
  EXPECT_EQ(headline_of(genscope::Run{}), "Nothing was recorded. No findings.");
  testing::TraceBuilder t;
  t.span("f", SpanKind::function, 0, 1000 * testing::kMs);
  EXPECT_EQ(headline_of(testing::make_run(t.trace())),
            "Took 1.00 s; no stage is marked. No findings.");
}

TEST(Headline, NamesWhatAProgramThatMarksNothingDid) {
  testing::TraceBuilder t;
  t.span("f", SpanKind::function, 0, 6000 * testing::kMs);
  auto run = testing::make_run(t.trace());
  Analysis analysis = analyze(run);
  analysis.resources.time.other_share = 0.98;
  EXPECT_EQ(headline(run, analysis, {}), "Slept or waited 98% of 6.00 s. No findings.");
  run.exit_code = 3;
  EXPECT_THAT(headline(run, analysis, {}),
              StartsWith("Failed (exit 3) after 6.00 s; slept or waited 98% of that."));
  analysis.resources.time.other_share = 0.5;
  EXPECT_THAT(headline(run, analysis, {}), HasSubstr("; no stage is marked."));
  run.exit_code.reset();
  analysis.resources.time.storage_share = 0.4;
  EXPECT_EQ(headline(run, analysis, {}), "Waited for storage 40% of 6.00 s. No findings.");
}

TEST(Headline, OfAShortRunGoesByTheKernelsFigures) {
  testing::TraceBuilder t;
  t.span("f", SpanKind::function, 0, 1200 * testing::kMs);
  auto run = testing::make_run(t.trace());
  run.cpu_ns = 2 * testing::kMs;
  EXPECT_THAT(headline_of(run), StartsWith("Took 1.20 s")) << "nobody knows whether it had a CPU";
  run.cpu_wait_ns = 0;
  EXPECT_THAT(headline_of(run), StartsWith("Slept or waited 100% of 1.20 s."));
  run.cpu_ns = 800 * testing::kMs;
  EXPECT_THAT(headline_of(run), StartsWith("Took 1.20 s"));
}

TEST(Headline, IsInEveryReport) {
  const auto run = testing::make_run(testing::sampled_trace());
  const Analysis analysis = analyze(run);
  const std::string text = headline(run, analysis, {});
  EXPECT_THAT(screen_of(run), StartsWith(text));
  EXPECT_THAT(testing::written([&](const Sink& sink) { report_markdown(run, analysis, {}, sink); }),
              HasSubstr("\n" + report::markdown_text(text) + "\n"));
  EXPECT_THAT(testing::written([&](const Sink& sink) { report_json(run, analysis, {}, sink); }),
              HasSubstr("\"headline\": \"denoise"));
}

TEST(Screen, FitsAllWidthsAndThirtyLines) {
  auto run = testing::make_run(testing::sampled_trace());
  run.path = "genscope-runs/" + std::string(40, 'x');
  run.traces.push_back(testing::generation_trace());
  testing::TraceBuilder many;
  for (int i = 0; i < 40; ++i) {
    many.span(std::string(50, 'y') + std::to_string(i), SpanKind::stage, i * testing::kMs,
              testing::kMs);
  }
  run.traces.push_back(many.trace());
  Advice advice = testing::sample_advice();
  for (int i = 0; i < 5; ++i) advice.findings.insert(advice.findings.end(), advice.findings[0]);
  for (const int width : {20, 60, 80, 100, 160}) {
    for (const bool unicode : {true, false}) {
      const std::string text = screen_of(
          run, {.width = width, .unicode = unicode, .page = "genscope-runs/x/report.html"}, advice);
      std::istringstream lines(text);
      int count = 0;
      for (std::string line; std::getline(lines, line); ++count) {
        if (line.starts_with("Recorded in") || line.starts_with("In a browser")) continue;
        EXPECT_LE(report::columns(line), width == 160 || width == 100 ? 100u
                                         : width == 80                ? 80u
                                                                      : 60u)
            << line;
      }
      EXPECT_LE(count, 30) << text;
      EXPECT_THAT(
          text, AllOf(HasSubstr("outside stages"), HasSubstr("more stages: "), HasSubstr("median "),
                      HasSubstr("slowest "), HasSubstr("more findin"), Not(HasSubstr("\x1b"))));
    }
  }
}

TEST(Screen, ShowsOnlyWhatWasMeasured) {
  const std::string bare = screen_of(testing::make_run(testing::sample_trace()));
  for (const char* label : {"memory", "CPU", "GPU", "energy", "n/a"}) {
    EXPECT_THAT(bare, Not(HasSubstr(label)));
  }
  const std::string text = screen_of(testing::make_run(testing::sampled_trace()));
  EXPECT_THAT(text, HasSubstr("GPU     NVIDIA GeForce RTX 4090: busy 90.0%, peak 18.6 GiB, 300 W, "
                              "power cap"));
  EXPECT_THAT(text, HasSubstr("memory  peak 1.12 GiB, grows by 9.54 MiB a second"));
}

TEST(Screen, NestsStagesAndTellsWhatToMarkInTheRightLanguage) {
  testing::TraceBuilder t;
  const auto outer = t.span("pipeline", SpanKind::stage, 0, 100);
  t.span("decode", SpanKind::stage, 10, 50, {.parent = outer});
  EXPECT_THAT(screen_of(testing::make_run(t.trace())),
              AllOf(HasSubstr("\n  pipeline"), HasSubstr("\n    decode")));
  genscope::Run run = testing::make_run(Trace{});
  run.command = {"/usr/bin/python3", "gen.py"};
  EXPECT_THAT(screen_of(run), HasSubstr("with genscope.stage("));
  run.command = {"./gen"};
  EXPECT_THAT(screen_of(run), HasSubstr("genscope::Stage stage{"));
}

TEST(Screen, DrawsSparklines) {
  const std::vector<std::int64_t> steps = {8, 1, 1, 4};
  EXPECT_EQ(report::sparkline(steps, 10, true), "█▂▂▅");
  EXPECT_EQ(report::sparkline(steps, 2, true), "█▅");
  EXPECT_EQ(report::sparkline(steps, 4, false), "#..=");
  EXPECT_EQ(report::sparkline({}, 4, true), "");
  EXPECT_EQ(report::shorten_end("one two three", 9), "one two…");
  EXPECT_EQ(report::shorten_end("one", 3), "one");
}

}  // namespace
}  // namespace genscope
