#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "report/printable.h"
#include "report/testing/advice.h"
#include "report/testing/sample.h"

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

TEST(TextReport, NeverEmitsRawControls) {
  const std::string text = text_of(testing::make_run(testing::sample_trace()), {.width = 200});
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("vae\\x1b[31m,"));
}

TEST(TextReport, FitsItsWidth) {
  auto run = testing::make_run(testing::sample_trace());
  run.traces[0].names[0].text = std::string(300, 'x');
  run.command.assign(50, "--long-option");
  for (const int width : {60, 80, 100, 140}) {
    std::istringstream lines(text_of(run, {.width = width}));
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
  trace.tracks[0].lost_spans = 1'234;
  trace.tracks[0].lost_records = 1;
  trace.integrity.closed = false;
  trace.integrity.recovered_chunks = 2;
  trace.integrity.bad_frames = 1;
  trace.integrity.bad_bytes = 64;
  auto run = testing::make_run(trace);
  run.notes = {"x.gst: not a trace"};
  const std::string text = text_of(run);
  EXPECT_THAT(text, HasSubstr("1,234 spans and 1 other record dropped"));
  EXPECT_THAT(text, HasSubstr("pid 4242 tid 4242 main: 1,234 spans and 1 other record"));
  EXPECT_THAT(text, HasSubstr("killed or crashed"));
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
  EXPECT_THAT(text, HasSubstr("# test\n\n|  |  |\n|---|---|\n"));
  EXPECT_THAT(text, HasSubstr("| denoise | stage | 1 | 600 ms | 0 ns | 60.0% |"));
  EXPECT_THAT(text, HasSubstr("vae\\\\x1b\\[31m"));
  EXPECT_THAT(text, HasSubstr("\n## Findings\n\n- **critical** RUN-FAILED"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace genscope
