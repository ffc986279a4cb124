#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "report/testing/sample.h"

namespace genscope {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Dump = void (*)(const genscope::Run&, const Analysis&, const Sink&);

std::vector<std::string> lines_of(const genscope::Run& run, Dump dump) {
  const Analysis analysis = analyze(run);
  std::istringstream text(testing::written([&](const Sink& sink) { dump(run, analysis, sink); }));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(CsvReport, HasUnitsInItsHeaderAndEmptyForUnknown) {
  const auto lines = lines_of(testing::make_run(testing::sample_trace()), report_csv);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0],
            "name,kind,count,total_ns,self_ns,share,min_ns,mean_ns,p50_ns,p95_ns,p99_ns,"
            "max_ns,device_ns,failed,unfinished");
  EXPECT_THAT(lines[2], StartsWith("denoise,stage,1,600000000,0,0.6,600000000,600000000,"));
  EXPECT_EQ(lines[3], "save,stage,0,200000000,200000000,0.2,,,,,,,,0,1");
  EXPECT_THAT(lines[4], StartsWith("\"vae\\x1b[31m,\xEF\xBF\xBD\",stage,1,"));
}

TEST(SpanDump, JsonLinesParseAndLinkToTheirParents) {
  testing::TraceBuilder other(7);
  const auto gpu = other.track("queue", 0);
  const auto parent = other.span("a", SpanKind::task, 100'000'000, 10);
  other.span("b", SpanKind::task, 100'000'005, 5,
             {.parent = parent, .track = gpu, .flags = kSpanDetached | kSpanFailed});
  const auto run = testing::make_run(testing::sample_trace(), other.trace());
  const auto lines = lines_of(run, spans_json);
  ASSERT_EQ(lines.size(), 8u);
  const auto session = nlohmann::json::parse(lines[0]);
  EXPECT_TRUE(session["parent"].is_null());
  EXPECT_EQ(session["begin_ns"], 0);
  EXPECT_EQ(session["kind"], "session");
  EXPECT_EQ(session["tid"], 4242);
  const auto step = nlohmann::json::parse(lines[2]);
  EXPECT_EQ(step["parent"], 1);
  EXPECT_EQ(step["args"]["dtype"], "bf16, \"x\"");
  EXPECT_EQ(step["args"]["index"], 0);
  const auto last = nlohmann::json::parse(lines[7]);
  EXPECT_EQ(last["id"], 7);
  EXPECT_EQ(last["parent"], 6) << "ids count through the run";
  EXPECT_EQ(last["flags"], nlohmann::json::array({"failed", "detached"}));
  EXPECT_TRUE(last["tid"].is_null());
  EXPECT_EQ(last["track"], "queue");
  EXPECT_EQ(nlohmann::json::parse(lines[4])["device_ns"], 50'000'000);
}

TEST(SpanDump, EveryArgumentTypeIsJson) {
  testing::TraceBuilder t;
  const auto span = t.span("a", SpanKind::task, 0, 1);
  t.arg(span, "i", ArgType::int64, static_cast<std::uint64_t>(-5));
  t.arg(span, "u", ArgType::uint64, ~std::uint64_t{0});
  t.arg(span, "f", ArgType::float64, __builtin_bit_cast(std::uint64_t, 0.5));
  t.arg(span, "nan", ArgType::float64, __builtin_bit_cast(std::uint64_t, std::nan("")));
  t.arg(span, "b", ArgType::boolean, 1);
  t.arg(span, "k\"ey\xFF", ArgType::text, 0, "line\nbreak");
  const auto lines = lines_of(testing::make_run(t.trace()), spans_json);
  const auto args = nlohmann::json::parse(lines.at(0))["args"];
  EXPECT_EQ(args["i"], -5);
  EXPECT_EQ(args["u"], ~std::uint64_t{0});
  EXPECT_EQ(args["f"], 0.5);
  EXPECT_TRUE(args["nan"].is_null());
  EXPECT_EQ(args["b"], true);
  EXPECT_EQ(args["k\"ey\xEF\xBF\xBD"], "line\nbreak");
}

TEST(SpanDump, CsvQuotesNamesAndArguments) {
  const auto lines = lines_of(testing::make_run(testing::sample_trace()), spans_csv);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0],
            "pid,tid,track,id,parent,kind,name,begin_ns,duration_ns,device_ns,flags,args");
  EXPECT_EQ(lines[1], "4242,4242,main,0,,session,qwen-image,0,1000000000,,,{}");
  EXPECT_EQ(lines[3],
            "4242,4242,main,2,1,step,step,100000000,400000000,,,"
            "\"{\"\"index\"\":0,\"\"dtype\"\":\"\"bf16, \\\"\"x\\\"\"\"\"}\"");
}

TEST(SpanDump, TextIsAlignedAndSafe) {
  const auto lines = lines_of(testing::make_run(testing::sample_trace()), spans_text);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_THAT(lines[0], ContainsRegex("pid +tid +track +id +parent +kind +name"));
  for (const std::string& line : lines) EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  EXPECT_EQ(lines[0].find("kind"), lines[1].find("session"));
}

TEST(SpanDump, ComesInPiecesAndASinkMayStopIt) {
  testing::TraceBuilder t;
  for (int i = 0; i < 5'000; ++i) t.span("a", SpanKind::task, i, 1);
  const auto run = testing::make_run(t.trace());
  const Analysis analysis = analyze(run);
  int pieces = 0;
  spans_csv(run, analysis, [&](std::string_view) { ++pieces; });
  EXPECT_GT(pieces, 2);
  const Sink full = [](std::string_view) { throw std::runtime_error("full"); };
  EXPECT_THROW(spans_csv(run, analysis, full), std::runtime_error);
}

}  // namespace
}  // namespace genscope
