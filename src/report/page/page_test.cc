#include "report/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "report/page/base64.h"
#include "report/page/lanes.h"
#include "report/page/outline.h"
#include "report/page/selection.h"
#include "report/testing/sample.h"

namespace genscope::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string base64_of(std::string_view bytes) {
  return genscope::testing::written([&](const Sink& sink) { base64(bytes, sink); });
}

TEST(Page, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64_of(std::string(3 * 16384, 'f') + "f").size(), 4u * 16384 + 4);
}

TEST(Page, GzipIsReadBack) {
  std::string bytes(5'000'000, 'a');
  for (std::size_t i = 0; i < bytes.size(); i += 7)
    bytes[i] = static_cast<char>(i * 2654435761u >> 24);
  const std::string packed = gzip(bytes);
  EXPECT_LT(packed.size(), bytes.size());
  std::string out(bytes.size() + 1, '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.total_out, bytes.size());
  inflateEnd(&stream);
  out.resize(bytes.size());
  EXPECT_EQ(out, bytes);
}

TEST(Page, ColumnsAreShuffledAndAligned) {
  Blobs blobs;
  EXPECT_EQ(blobs.add(std::vector<std::uint8_t>{7}), R"({"at":0,"n":1,"type":"u8"})");
  EXPECT_EQ(blobs.add(std::vector<std::uint32_t>{0x04030201, 0x14131211}),
            R"({"at":8,"n":2,"type":"u32"})");
  EXPECT_EQ(blobs.bytes().substr(8), std::string("\x01\x11\x02\x12\x03\x13\x04\x14"));
  EXPECT_THAT(blobs.add_narrow(std::vector<std::uint32_t>{65535}), HasSubstr("u16"));
  EXPECT_THAT(blobs.add_narrow(std::vector<std::uint32_t>{65536}), HasSubstr("u32"));
}

TEST(Page, WhatDoesNotFitInto32BitsIsFar) {
  Nanoseconds column;
  column.add(5);
  column.add(std::int64_t{0xFFFFFFFF});
  column.add(std::int64_t{0xFFFFFFFF} + 10'000'000'000);
  column.add(-3);
  EXPECT_EQ(column.far(), "[[2,10000000000]]");
}

// A trace of spans on one track; parents by index.
Trace spans_of(const std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>>& spans) {
  Trace trace;
  trace.names.push_back({"work", SpanKind::stage});
  trace.tracks.push_back({});
  for (const auto& [begin, duration, parent] : spans) {
    trace.spans.begin_ns.push_back(begin);
    trace.spans.duration_ns.push_back(duration);
    trace.spans.parent.push_back(parent);
    trace.spans.name.push_back(0);
    trace.spans.track.push_back(0);
    trace.spans.flags.push_back(0);
  }
  return trace;
}

std::vector<std::uint8_t> lanes(const Trace& trace) {
  std::vector<std::uint32_t> all(trace.spans.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return lanes_of(trace, all);
}

TEST(Lanes, ChildrenAreUnderTheirParentsAndNothingOverlaps) {
  EXPECT_THAT(lanes(spans_of({{0, 100, kNone}, {10, 20, 0}, {12, 5, 1}, {40, 20, 0}})),
              ElementsAre(0, 1, 2, 1));
  // Detached: two requests at once, and one that begins when the first is over.
  EXPECT_THAT(lanes(spans_of({{0, 10, kNone}, {5, 10, kNone}, {10, 10, kNone}})),
              ElementsAre(0, 1, 0));
  // A child stays below its parent even where the lane above is free.
  EXPECT_THAT(lanes(spans_of({{0, 10, kNone}, {5, 50, kNone}, {20, 5, 1}})), ElementsAre(0, 1, 2));
}

TEST(Lanes, DeeperThanTheLastShareIt) {
  std::vector<std::tuple<std::int64_t, std::int64_t, std::uint32_t>> deep;
  for (std::uint32_t i = 0; i < 300; ++i) deep.push_back({i, 1000 - i, i == 0 ? kNone : i - 1});
  const std::vector<std::uint8_t> found = lanes(spans_of(deep));
  EXPECT_EQ(found[254], 254);
  EXPECT_EQ(found[255], kDeepest);
  EXPECT_EQ(found[299], kDeepest);
}

TEST(Selection, KeepsTheLongestAndWhatFailed) {
  Trace trace = spans_of({{0, 10, kNone}, {20, 1000, kNone}, {2000, 5, kNone}, {3000, 20, kNone}});
  trace.spans.flags[2] = kSpanFailed;
  genscope::Run run;
  run.traces.push_back(trace);
  EXPECT_EQ(select_spans(run, 4).below_ns, 0);
  const Selection two = select_spans(run, 2);
  EXPECT_TRUE(two.keeps(trace, 1));
  EXPECT_TRUE(two.keeps(trace, 2));
  EXPECT_FALSE(two.keeps(trace, 0));
}

TEST(Density, AllTracksOfAPageShareABound) {
  EXPECT_EQ(density_buckets(0), 32'768u);
  EXPECT_EQ(density_buckets(16), 32'768u);
  EXPECT_EQ(density_buckets(17), 16'384u);
  EXPECT_EQ(density_buckets(1000), 512u);
  EXPECT_EQ(density_buckets(1'000'000), 64u);
  for (std::uint64_t tracks = 1; tracks <= 8192; tracks *= 2) {
    EXPECT_LE(tracks * density_buckets(tracks), 1u << 19) << tracks;
  }
}

// A run of so many ranks of one track; of each all but one span is too short for the page.
genscope::Run ranks_of_short_spans(int ranks) {
  Trace trace = spans_of({});
  for (int i = 0; i < 40; ++i) {
    trace.spans.begin_ns.push_back(i * 1000);
    trace.spans.duration_ns.push_back(i == 0 ? 900 : 10 + i);
    trace.spans.parent.push_back(kNone);
    trace.spans.name.push_back(0);
    trace.spans.track.push_back(0);
    trace.spans.flags.push_back(0);
  }
  genscope::Run run;
  run.traces.assign(static_cast<std::size_t>(ranks), trace);
  return run;
}

TEST(Density, APageOfManyRanksIsNoLargerThanOneOfFew) {
  const auto bytes_of = [](int ranks) {
    const genscope::Run run = ranks_of_short_spans(ranks);
    PageLimits limits;
    limits.spans = static_cast<std::uint64_t>(ranks);
    return page_container(run, analyze(run), "{}", limits).size();
  };
  const std::size_t few = bytes_of(16), many = bytes_of(128);
  EXPECT_GT(few, 16u * 32'768 * 6) << "the finest that there is";
  EXPECT_LT(many, few * 5 / 4) << "eight times the ranks";
}

TEST(Density, CountsEverySpanAtEachLevel) {
  Density density(64'000, 512);
  for (std::int64_t at = 0; at < 64'000; at += 100) density.add(at, 50);
  Blobs blobs;
  const std::string json = density.json(blobs, 60);
  EXPECT_THAT(json, HasSubstr(R"("spans":640,"below_ns":60,)"));
  for (const char* n : {R"("n":512,)", R"("n":64,)", R"("n":8,)"}) EXPECT_THAT(json, HasSubstr(n));
}

TEST(Page, ContainerHoldsTheReportAndTheSpans) {
  const genscope::Run run = genscope::testing::make_run(genscope::testing::sample_trace());
  const std::string bytes = page_container(run, analyze(run), R"({"schema":"x"})", {});
  ASSERT_EQ(bytes.substr(0, 8), std::string("GSPAGE1\0", 8));
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  const std::string header = bytes.substr(12, length);
  EXPECT_THAT(header, HasSubstr(R"("report":{"schema":"x"})"));
  EXPECT_THAT(header, HasSubstr(R"("names":["qwen-image","denoise","step",)"));
  EXPECT_THAT(header, HasSubstr(R"("kinds":["session","stage","step",)"));
  EXPECT_THAT(header, HasSubstr(R"("spans_kept":6,)"));
  EXPECT_EQ(header.back(), '}');
}

TEST(Page, OverTheCapSmallSpansAreSummarised) {
  const genscope::Run run = genscope::testing::make_run(genscope::testing::sample_trace());
  PageLimits limits;
  limits.spans = 2;
  const std::string bytes = page_container(run, analyze(run), "{}", limits);
  EXPECT_THAT(bytes, HasSubstr(R"("summarised":{"spans":)"));
  EXPECT_THAT(bytes, HasSubstr(R"("limits":{"spans":6,)"));
}

TEST(Page, WhatWasStartedOnAnotherTrackSharesANumberWithItsLaunch) {
  Trace trace = spans_of({{0, 100, kNone}, {10, 20, 0}, {50, 10, 1}, {70, 10, 0}});
  trace.tracks.push_back({});
  trace.spans.track[2] = 1;  // a kernel, started by span 1
  genscope::Run run;
  run.traces = {trace, trace};
  const std::string bytes = page_container(run, analyze(run), "{}", {});
  EXPECT_THAT(bytes, HasSubstr(R"("args":[[1,{"correlation":1}]])"));
  EXPECT_THAT(bytes, HasSubstr(R"("args":[[0,{"correlation":1}]])"));
  EXPECT_THAT(bytes, HasSubstr(R"("args":[[0,{"correlation":5}]])")) << "of the second trace";
}

TEST(Page, AComparisonHoldsTheSpansOfBothRuns) {
  const genscope::Run run = genscope::testing::make_run(genscope::testing::sample_trace());
  const Analysis analysis = analyze(run);
  const std::string bytes =
      compare_container({run, analysis}, {run, analysis}, {}, R"({"schema":"y"})", {});
  EXPECT_THAT(bytes, HasSubstr(R"("mode":"compare","compare":{"schema":"y"},"runs":[{"names":)"));
  const std::size_t first = bytes.find(R"("spans_kept":6,)");
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(bytes.find(R"("spans_kept":6,)", first + 1), std::string::npos);
}

TEST(Outline, HasTheOutermostStagesTheStepsAndTheMemory) {
  genscope::testing::TraceBuilder t(7);
  const auto load = t.span("load", SpanKind::load, 100, 50);
  t.span("weights", SpanKind::load, 110, 20, {.parent = load});
  const auto denoise = t.span("denoise", SpanKind::stage, 150, 100);
  t.span("step", SpanKind::step, 150, 60, {.parent = denoise});
  t.span("step", SpanKind::step, 210, 30, {.parent = denoise});
  t.span("step", SpanKind::step, 240, 10, {.parent = denoise, .flags = kSpanUnfinished});
  const genscope::Run run = genscope::testing::make_run(t.trace());
  const RunOutline outline = outline_of(run, analyze(run));
  ASSERT_EQ(outline.stages.size(), 2u);
  EXPECT_EQ(outline.stages[0].name, "load");
  EXPECT_EQ(outline.stages[1].begin_ns - outline.stages[0].begin_ns, 50);
  EXPECT_EQ(outline.steps, 2u);
  EXPECT_THAT(outline.step_ns, ElementsAre(60, 30));
  Blobs blobs;
  const std::string json =
      outlines_json({.before = {outline}, .after = {outline}, .left_out = 3}, blobs);
  EXPECT_THAT(json, HasSubstr(R"("stages":[["load",0,50],["denoise",50,100]],"steps":2,)"));
  EXPECT_THAT(json, HasSubstr(R"("side":"after")"));
  EXPECT_THAT(json, HasSubstr(R"("left_out":3)"));
}

TEST(Outline, EightRunsAreDrawnAndBothSidesHaveTheirShare) {
  using Pair = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(outlined_runs(1, 1), Pair(1, 1));
  EXPECT_EQ(outlined_runs(4, 4), Pair(4, 4));
  EXPECT_EQ(outlined_runs(20, 20), Pair(4, 4));
  EXPECT_EQ(outlined_runs(20, 1), Pair(7, 1));
  EXPECT_EQ(outlined_runs(2, 20), Pair(2, 6));
}

TEST(HtmlReport, IsTheBundleWithDataInIt) {
  const genscope::Run run = genscope::testing::make_run(genscope::testing::sample_trace());
  const std::string html = genscope::testing::written(
      [&](const Sink& sink) { report_html(run, analyze(run), {}, sink); });
  const std::size_t at = html.find(R"(id="genscope-data">H4sI)");  // gzip's first bytes
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(html.find("<script>alert", at), std::string::npos);
}

}  // namespace
}  // namespace genscope::report
