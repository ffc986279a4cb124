#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/printable.h"
#include "report/telemetry_text.h"
#include "report/testing/advice.h"
#include "report/testing/sample.h"
#include "report/testing/sampled.h"

namespace genscope {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const genscope::Run& run, TextOptions options = {}) {
  const Analysis analysis = analyze(run);
  return testing::written([&](const Sink& sink) { report_text(run, analysis, {}, options, sink); });
}

TEST(TextReport, ShowsWhatRanAndWhereTimeWent) {
  const std::string text = text_of(testing::make_run(testing::sample_trace()), {.width = 160});
  EXPECT_THAT(text, HasSubstr("2023-11-14 22:13:20 UTC"));
  EXPECT_THAT(text, HasSubstr("python gen.py"));
  EXPECT_THAT(text, ContainsRegex("name +kind +count +total +self +share +min +mean +p50 +p95 +p99 "
                                  "+max +device +failed +open"));
  EXPECT_THAT(text, ContainsRegex("denoise +stage +1 +600ms +0ns +60.0%"));
  EXPECT_THAT(text, HasSubstr("2 steps: first 400 ms, median of the rest 200 ms, p95 400 ms, max "
                              "400 ms, first ratio 2"));
  EXPECT_THAT(text, ContainsRegex("main +4242 +4242 +6 +900ms +0"));
  EXPECT_THAT(text, ContainsRegex("loss +2 +0.5 +0.25 +0.25 +0.375 +0.5"));
  EXPECT_THAT(text, HasSubstr("(100 bytes per span)"));
  EXPECT_THAT(text, HasSubstr("nothing was dropped"));
  EXPECT_THAT(text, HasSubstr("process 4242: 1 span was still open when its recording ended"));
}

TEST(TextReport, TellsOfWhateverWasGenerated) {
  const auto run = testing::make_run(testing::generation_trace());
  const std::string text = text_of(run, {.width = 160});
  for (const char* line : {
           "24 steps: first 300 ms, median of the rest 100 ms, p95 300 ms, max 300 ms",
           "21 steady: median 100 ms, p95 100 ms, variation 0.00%; 3 warming up: 900 ms",
           "As the program says: timesteps 1000 to 125, guidance 4.5",
           "3 blocks, 24 frames: 8 frames/s, 1 blocks/s, 8 steps/s",
           "median 1.00 s, max 1.00 s, first one done after 1.00 s, 1 times the median of the "
           "others",
           "Most memory of a block: 3.00 MiB",
           "4 batches, median 100 ms, min 100 ms, max 250 ms, loss 1 to 0.25, least 0.25",
           "Of the loop: 36.4% waiting for input",
           "High variance: the longest batch after the first took 2.5 times the shortest",
           "2 requests, 1 failed (50.0% went well), median 4.00 s, p95 4.00 s, max 4.00 s, 1 image",
           "text: 1 call, 20.0 ms on average, 0.49% of the run",
           "image: 1 call, 80.0 ms on average, 1.95% of the run",
           "attn\\x1b[1m (function): 80.0%, over 30% of the layers' time",
           "24 frames sent, 6 dropped (20.0%), 8 frames/s",
           "On average: encoding 5 ms (max 5)",
           "Cache: 1 hit, 1 miss, 0 evictions, hit ratio 50.0%, 2.00 KiB at the end",
           "Memory: 1 allocation (4.00 KiB), 1 free (1.00 KiB), 100% of them below 1 MiB",
           "Parameters: dit (mmdit) 20.4B",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, ContainsRegex("epoch +time +batches +failed +median +max +first loss +last "));
  EXPECT_THAT(text, ContainsRegex("12.5M"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const std::string stages = text_of(run, {.width = 160, .stages_only = true});
  EXPECT_THAT(stages, HasSubstr("21 steady"));
  EXPECT_THAT(stages, Not(HasSubstr("Blocks")));
}

TEST(TextReport, TellsWhatStagesUsedAndWhatTheGpuDid) {
  const std::string text = text_of(testing::make_run(testing::sampled_trace()), {.width = 200});
  EXPECT_THAT(text, ContainsRegex("stage +CPU cores +memory max +GPU busy +GPU memory max +power "
                                  "+energy +covered"));
  EXPECT_THAT(text, ContainsRegex("denoise.x1b +1.5 +1.10 GiB +90.0% +18.6 GiB +300 W +1.5 Wh "
                                  "+100%"));
  EXPECT_THAT(text, Not(ContainsRegex("vae_decode +[0-9.-]+ +[0-9.-]+ GiB")))
      << "no reading falls in it";
  EXPECT_THAT(text, ContainsRegex("Utilisation: [0-9.]+% of the peak"));
  EXPECT_THAT(text, HasSubstr("3000 J per image (2), 300 J per step (18)."));
  EXPECT_THAT(text,
              HasSubstr("Memory of the host grows by 9.54 MiB a second (9.54 MiB to 9.54 MiB)"));
  EXPECT_THAT(text, HasSubstr("GPU-1: held down (power cap) in 50.0% of 72 readings."));
  EXPECT_THAT(text, ContainsRegex("gpu:0 +700 us +57.1% +57.1% +0.00% +0.00% +0.00% +42.9% +0.00% "
                                  "+0.00% +2"));
  EXPECT_THAT(text, ContainsRegex("gemm<float, \"x\"> +- +2 +400us"));
}

TEST(TextReport, LeavesOutWhatHasNothingToSay) {
  const std::string text = text_of(testing::make_run(testing::sample_trace()), {.width = 160});
  for (const char* title : {"Blocks", "Training", "Requests", "Sessions", "Text and image",
                            "Streaming", "Layers", "Told by the program"}) {
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n") + title + "\n"))) << title;
  }
}

TEST(TextReport, NeverEmitsRawControls) {
  const std::string text = text_of(testing::make_run(testing::sample_trace()), {.width = 200});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("vae\\x1b[31m,"));
}

TEST(TextReport, FitsItsWidth) {
  auto run = testing::make_run(testing::sample_trace());
  run.traces[0].names[0].text = std::string(300, 'x');
  run.command.assign(50, "--long-option");
  const auto generation = testing::make_run(testing::generation_trace());
  for (const int width : {60, 80, 100, 140}) {
    std::istringstream lines(text_of(run, {.width = width}) +
                             text_of(generation, {.width = width}));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(report::columns(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(TextReport, SaysWhenNothingWasRecorded) {
  const std::string text = text_of(testing::make_run(Trace{}));
  EXPECT_THAT(text, HasSubstr("No spans were recorded."));
  EXPECT_THAT(text_of(genscope::Run{}), HasSubstr("No spans were recorded."));
}

TEST(TextReport, StatesLossesPerThreadAndDamage) {
  Trace trace = testing::sample_trace();
  trace.tracks[0].dropped_spans = 1'234;
  trace.tracks[0].dropped_records = 1;
  trace.integrity.closed = false;
  trace.integrity.recovered_chunks = 2;
  trace.integrity.bad_frames = 1;
  trace.integrity.bad_bytes = 64;
  auto run = testing::make_run(trace);
  run.notes = {"x.gst: not a trace"};
  const std::string text = text_of(run);
  EXPECT_THAT(text, HasSubstr("1,234 spans and 1 other record dropped"));
  EXPECT_THAT(text, HasSubstr("pid 4242 tid 4242 main: 1,234 spans and 1 other record"));
  EXPECT_THAT(text, HasSubstr("ended without closing its trace (by _exit or a signal)"));
  EXPECT_THAT(text, HasSubstr("2 chunks were recovered from its live buffers"));
  EXPECT_THAT(text, HasSubstr("1 damaged part of its trace skipped (64 bytes)"));
  EXPECT_THAT(text, HasSubstr("x.gst: not a trace"));
}

TEST(TextReport, ColorOnlyWhenAsked) {
  EXPECT_THAT(text_of(testing::make_run(testing::sample_trace()), {.color = true}),
              HasSubstr("\x1b[1m"));
}

TEST(Reports, EndWithTheFindings) {
  const genscope::Run run = testing::make_run(testing::sample_trace());
  const Analysis analysis = analyze(run);
  const Advice advice = testing::sample_advice();
  const auto text = [&](TextOptions options) {
    return testing::written(
        [&](const Sink& sink) { report_text(run, analysis, advice, options, sink); });
  };
  EXPECT_THAT(text({}), HasSubstr("\nFindings\ncritical  RUN-FAILED  Generations failed\n"));
  EXPECT_TRUE(text({}).ends_with("--all).\n"));
  const std::string brief = text({.stages_only = true});
  EXPECT_THAT(brief, HasSubstr("WARM-FIRST  The first step is a warm-up\n  advice"));
  EXPECT_THAT(brief, Not(HasSubstr("evidence")));
}

TEST(MarkdownReport, HasTablesAndFindingsAndNoMarkupOfOthers) {
  const genscope::Run run = testing::make_run(testing::sample_trace());
  const std::string text = testing::written([&](const Sink& sink) {
    report_markdown(run, analyze(run), testing::sample_advice(), sink);
  });
  EXPECT_THAT(
      text,
      HasSubstr("# test\n\nDenoise took 60% of 1.00 s: 2 steps of 200 ms. 3 findings.\n\n|  |  "
                "|\n|---|---|\n"));
  EXPECT_THAT(text, HasSubstr("| denoise | stage | 1 | 600 ms | 0 ns | 60.0% |"));
  EXPECT_THAT(text, HasSubstr("vae\\\\x1b\\[31m"));
  EXPECT_THAT(text, HasSubstr("\n## Findings\n\n- **critical** RUN-FAILED"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(TimeText, SaysWhereTheTimeWentAndLeavesOutWhatRoundsToNothing) {
  TimeSplit time;
  EXPECT_EQ(report::time_text(time), "");
  time.on_cpu_share = 0.62;
  EXPECT_EQ(report::time_text(time), "62% on a CPU") << "the rest is not known";
  time.ready_share = 0.2;
  time.storage_share = 0.001;
  time.other_share = 0.179;
  EXPECT_EQ(report::time_text(time), "62% on a CPU, 20% ready for one, 18% asleep or waiting");
}

}  // namespace
}  // namespace genscope
