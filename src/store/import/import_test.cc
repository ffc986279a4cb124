#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "genscope/store.h"
#include "testing/temp_dir.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<Imported> import(const std::string& text, const ImportOptions& options = {}) {
  const testing::TempDir dir;
  const std::string path = dir / "trace.json";
  std::ofstream(path, std::ios::binary) << text;
  return import_chrome_trace(path, options);
}

Imported imported(const std::string& text) {
  Result<Imported> result = import(text);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(*result) : Imported{};
}

std::vector<std::string> track_names(const Trace& t) {
  std::vector<std::string> out;
  for (const TrackInfo& track : t.tracks) out.push_back(track.name);
  return out;
}

// "track/parent/name [begin+duration]" of each span, ns since the first event.
std::vector<std::string> spans(const Trace& t) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const std::uint32_t parent = t.spans.parent[i];
    out.push_back(t.tracks[t.spans.track[i]].name + "/" +
                  (parent == kNone ? "" : t.span_name(parent)) + "/" + t.span_name(i) + " [" +
                  std::to_string(t.spans.begin_ns[i] - t.begin_ns) + "+" +
                  std::to_string(t.spans.duration_ns[i]) + "]");
  }
  return out;
}

std::map<std::string, std::string> args(const Trace& t, const ArgColumns& a, std::uint32_t owner) {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a.owner[i] != owner) continue;
    std::string value;
    switch (a.type[i]) {
      case ArgType::text:
        value = t.texts[a.bits[i]];
        break;
      case ArgType::float64:
        value = std::to_string(__builtin_bit_cast(double, a.bits[i])) + " double";
        break;
      case ArgType::uint64:
        value = std::to_string(a.bits[i]) + " unsigned";
        break;
      default:
        value = std::to_string(static_cast<std::int64_t>(a.bits[i]));
    }
    out[t.names[a.key[i]].text] = value;
  }
  return out;
}

TEST(Import, CompleteEventsNest) {
  const Trace t = imported(R"({"traceEvents": [
    {"ph":"X","name":"inner","pid":1,"tid":2,"ts":10.5,"dur":2.25},
    {"ph":"X","name":"outer","pid":1,"tid":2,"ts":10,"dur":5},
    {"ph":"X","name":"other","pid":1,"tid":3,"ts":11,"dur":1},
    {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}}]})")
                      .trace;
  EXPECT_THAT(spans(t), ElementsAre("main//outer [0+5000]", "main/outer/inner [500+2250]",
                                    "//other [1000+1000]"));
  EXPECT_EQ(t.process.pid, 1u);
  EXPECT_EQ(t.tracks[0].tid, 2u);
}

TEST(Import, BeginAndEndAreAStackPerThread) {
  const Imported i = imported(R"([
    {"ph":"B","name":"a","pid":1,"tid":1,"ts":0,"args":{"x":1}},
    {"ph":"B","name":"b","pid":1,"tid":2,"ts":1},
    {"ph":"B","name":"c","pid":1,"tid":1,"ts":2},
    {"ph":"E","pid":1,"tid":1,"ts":3},
    {"ph":"E","pid":1,"tid":1,"ts":4,"args":{"y":2}},
    {"ph":"E","pid":1,"tid":1,"ts":5},
    {"ph":"i","name":"late","pid":1,"tid":2,"ts":9}])");
  EXPECT_THAT(spans(i.trace), ElementsAre("//a [0+4000]", "/a/c [2000+1000]", "//b [1000+8000]"));
  EXPECT_EQ(i.trace.spans.flags[2], kSpanUnfinished);
  EXPECT_EQ(i.summary.unmatched_ends, 1u);
  EXPECT_EQ(i.summary.unfinished, 1u);
  EXPECT_THAT(args(i.trace, i.trace.span_args, 0),
              (std::map<std::string, std::string>{{"x", "1"}, {"y", "2"}}));
}

TEST(Import, WhatNeverEndsHoldsAllThatComesLater) {
  const Trace t = imported(R"([
    {"ph":"X","name":"x","pid":1,"tid":1,"ts":0,"dur":2},
    {"ph":"B","name":"open","pid":1,"tid":1,"ts":5},
    {"ph":"X","name":"y","pid":1,"tid":1,"ts":7,"dur":3},
    {"ph":"B","name":"at the end","pid":1,"tid":1,"ts":10},
    {"ph":"X","name":"z","pid":1,"tid":1,"ts":10,"dur":0}])")
                      .trace;
  EXPECT_THAT(spans(t), ElementsAre("//x [0+2000]", "//open [5000+5000]", "/open/y [7000+3000]",
                                    "/open/at the end [10000+0]", "/at the end/z [10000+0]"));
}

TEST(Import, AsyncEventsAreJoinedByCategoryAndId) {
  const Trace t = imported(R"([
    {"ph":"b","cat":"net","id":1,"name":"request","pid":1,"tid":1,"ts":0},
    {"ph":"b","cat":"net","id":"0x2","name":"request","pid":1,"tid":1,"ts":1},
    {"ph":"b","cat":"net","id":1,"name":"dns","pid":1,"tid":1,"ts":2},
    {"ph":"n","cat":"net","id":1,"name":"found","pid":1,"tid":1,"ts":3},
    {"ph":"e","cat":"net","id":1,"name":"dns","pid":1,"tid":9,"ts":4},
    {"ph":"e","cat":"net","id":1,"name":"request","pid":1,"tid":9,"ts":6},
    {"ph":"e","cat":"disk","id":"0x2","name":"request","pid":1,"tid":9,"ts":7},
    {"ph":"e","cat":"net","id":"0x2","name":"request","pid":1,"tid":9,"ts":8}])")
                      .trace;
  EXPECT_THAT(spans(t), ElementsAre("async:net//request [0+6000]", "async:net//request [1000+7000]",
                                    "async:net/request/dns [2000+2000]"));
  ASSERT_EQ(t.events.size(), 1u);
  EXPECT_EQ(t.events.span[0], 2u);
}

TEST(Import, CountersTakeTheNamesOfTheirSeries) {
  const Trace t = imported(R"([
    {"ph":"C","name":"memory","pid":1,"ts":0,"args":{"used":1.5,"free":"2"}},
    {"ph":"C","name":"queue","pid":1,"ts":1,"args":{"value":3}},
    {"ph":"C","name":"queue","id":7,"pid":1,"ts":2,"args":{"value":4, "note": []}}])")
                      .trace;
  std::vector<std::string> got;
  for (std::size_t i = 0; i < t.counters.size(); ++i) {
    got.push_back(t.names[t.counters.name[i]].text + "=" + std::to_string(t.counters.value[i]));
  }
  EXPECT_THAT(got, ElementsAre("memory/used=1.500000", "memory/free=2.000000", "queue=3.000000",
                               "queue[7]=4.000000"));
}

TEST(Import, InstantsBelongToTheSpanAroundThem) {
  const Trace t = imported(R"([
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},
    {"ph":"i","name":"within","pid":1,"tid":1,"ts":5},
    {"ph":"R","name":"after","pid":1,"tid":1,"ts":15},
    {"ph":"I","name":"elsewhere","pid":1,"tid":2,"ts":5}])")
                      .trace;
  EXPECT_THAT(t.events.span, ElementsAre(0u, kNone, kNone));
}

TEST(Import, OverlappingSlicesGoToATrackBesideAndNothingIsLost) {
  const Imported i = imported(R"([
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10.5},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
    {"ph":"X","name":"c","pid":1,"tid":1,"ts":6,"dur":1},
    {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}}])");
  EXPECT_THAT(spans(i.trace), ElementsAre("main//a [0+10500]", "main/a/c [6000+1000]",
                                          "main (overlap 1)//b [5000+10000]"));
  EXPECT_EQ(i.summary.overlaps, 1u);
}

TEST(Import, SeveralProcessesOfOneFileKeepTheirNames) {
  const Trace t = imported(R"([
    {"ph":"M","name":"process_name","pid":7,"args":{"name":"loader"}},
    {"ph":"X","name":"a","pid":7,"tid":70,"ts":0,"dur":1},
    {"ph":"X","name":"b","pid":8,"tid":"io","ts":0,"dur":1},
    {"ph":"X","name":"c","pid":8,"tid":80,"ts":0,"dur":1}])")
                      .trace;
  EXPECT_EQ(t.process.pid, 8u);
  EXPECT_THAT(track_names(t), ElementsAre("thread io", "", "loader 7: thread 70"));
}

TEST(Import, ArgumentsKeepTheirTypes) {
  const Trace t = imported(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1,"args":{
    "small":-3, "past 2^53":9007199254740993, "past 2^63":18446744073709551615,
    "past 2^64":36893488147419103232, "half":0.5, "text":"x\ty", "yes":true, "nothing":null,
    "list":[1, {"a": 2}], "External id": 12}}])")
                      .trace;
  EXPECT_THAT(args(t, t.span_args, 0), (std::map<std::string, std::string>{
                                           {"small", "-3"},
                                           {"past 2^53", "9007199254740993"},
                                           {"past 2^63", "18446744073709551615 unsigned"},
                                           {"past 2^64", "36893488147419103232.000000 double"},
                                           {"half", "0.500000 double"},
                                           {"text", "x\ty"},
                                           {"yes", "1"},
                                           {"list", R"([1, {"a": 2}])"}}));
}

TEST(Import, TimesPast2To53AreExactAndMayBeStrings) {
  const Trace t = imported(R"([
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":1743521598123456.001,"dur":"1.001"},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":"1743521598123457.003","dur":1}])")
                      .trace;
  EXPECT_THAT(spans(t), ElementsAre("//a [0+1001]", "//b [1002+1000]"));
  EXPECT_EQ(t.begin_ns + t.process.unix_offset_ns, 1743521598123456001);
}

TEST(Import, LongNamesStayDistinct) {
  const std::string stem(400, 'k');
  const Trace t =
      imported("[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"name\":\"" + stem +
               "1\"},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":1,\"name\":\"" + stem +
               "2\"}]")
          .trace;
  EXPECT_LE(t.span_name(0).size(), 255u);
  EXPECT_NE(t.span_name(0), t.span_name(1));
}

TEST(Import, TracesThatAreNoneAreErrors) {
  const auto message = [](const std::string& text) {
    const auto result = import(text);
    return result.ok() ? std::string("(imported)") : result.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("trace.json is empty"));
  EXPECT_THAT(message("hello"), HasSubstr("is no JSON"));
  EXPECT_THAT(message("{\"a\": 1}"), HasSubstr("has no \"traceEvents\""));
  EXPECT_THAT(message("{\"traceEvents\": 5}"), HasSubstr("has no \"traceEvents\""));
  EXPECT_EQ(message("[]"), "(imported)");
  EXPECT_EQ(message("\xEF\xBB\xBF []"), "(imported)");
  EXPECT_THAT(import_chrome_trace("/nonexistent/x.json", {}).error().message,
              HasSubstr("/nonexistent/x.json"));
  EXPECT_THAT(import_chrome_trace("/tmp", {}).error().message, HasSubstr("is a folder"));
}

TEST(Import, ReadsOnAfterWhatItCannotUse) {
  const std::string text = R"([
    {"ph":"X","name":"good 1","pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"no time","pid":1,"tid":1,"dur":1},
    {"ph":"X","name":"time of a wrong type","pid":1,"tid":1,"ts":[1],"dur":1},
    {"ph":"X","name":["wrong"],"pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":5,"name":"phase of a wrong type","pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"not a number","pid":1,"tid":1,"ts":NaN,"dur":1},
    {"ph":"X","name":"args of a wrong type","pid":1,"tid":1,"ts":0,"dur":1,"args":"text"},
    {"ph":"X","name":"no colon","pid" 1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"negative","pid":1,"tid":1,"ts":0,"dur":-1},
    17, "text", [1, 2, {"ph":"X"}], null,
    {"ph":"X","name":"good 2","pid":1,"tid":1,"ts":5,"dur":1}])";
  const Imported i = imported(text);
  EXPECT_THAT(spans(i.trace), ElementsAre("//good 1 [0+1000]", "//good 2 [5000+1000]"));
  EXPECT_EQ(i.summary.malformed, 12u);
  EXPECT_EQ(i.summary.problems.size(), 3u);
  const std::string offset = std::to_string(text.find(R"({"ph":"X","name":"no time")"));
  EXPECT_EQ(i.summary.problems[0], "at byte " + offset + ": an event without a time (ts)");
  ASSERT_EQ(i.trace.integrity.notes.size(), 1u);
  EXPECT_THAT(i.trace.integrity.notes[0], HasSubstr("12 malformed events skipped"));
}

TEST(Import, ControlCharactersInStringsDoNotLoseTheEvent) {
  const Imported i = imported(
      "[{\"ph\":\"X\",\"name\":\"a\x01\x1f\n b\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1}]");
  EXPECT_EQ(i.trace.span_name(0), "a    b");
  EXPECT_EQ(i.summary.repaired, 1u);
  EXPECT_EQ(i.summary.malformed, 0u);
}

TEST(Import, OfDuplicateKeysTheLastCounts) {
  const Trace t = imported(R"([{"ph":"B","ph":"X","name":"a","name":"b","pid":1,"tid":1,"ts":1,
    "ts":2,"dur":5,"dur":1,"args":{"x":1},"args":{"y":2}}])")
                      .trace;
  EXPECT_THAT(spans(t), ElementsAre("//b [0+1000]"));
  EXPECT_THAT(args(t, t.span_args, 0), (std::map<std::string, std::string>{{"y", "2"}}));
}

TEST(Import, DeepJsonIsSkippedWithoutRecursion) {
  const std::string deep(100'000, '[');
  const std::string shut(100'000, ']');
  const Imported i = imported(R"({"junk": )" + deep + shut + R"(, "traceEvents": [
    {"ph":"X","name":"deep","pid":1,"tid":1,"ts":0,"dur":1,"args":{"a":)" +
                              deep + shut + R"(}},
    {"ph":"X","name":"good","pid":1,"tid":1,"ts":0,"dur":1}]})");
  EXPECT_THAT(spans(i.trace), ElementsAre("//good [0+1000]"));
  EXPECT_EQ(i.summary.malformed, 1u);
  EXPECT_THAT(i.summary.problems[0], HasSubstr("nested deeper than 512"));
}

TEST(Import, AHundredThousandNestedSlicesNest) {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) {
    text += "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(i) +
            ",\"dur\":" + std::to_string(1'000'000 - 2 * i) + "},\n";
  }
  const Trace t = imported(text).trace;
  ASSERT_EQ(t.spans.size(), 100'000u);
  EXPECT_EQ(t.spans.parent.back(), 99'998u);
}

constexpr const char* kSmall = R"({"schemaVersion": 1, "traceEvents": [
  {"ph":"X","name":"a\u00e9","cat":"cpu_op","pid":1,"tid":1,"ts":0.5,"dur":10,"args":{"x":[1]}},
  {"ph":"X","name":"b","pid":1,"tid":1,"ts":2,"dur":3}], "traceName": "x"})";

TEST(Import, ATraceCutAnywhereGivesWhatIsThere) {
  const std::string text = kSmall;
  const std::size_t first_end = text.find("]}},") + 3, second_end = text.find("3}]") + 2;
  for (std::size_t n = 0; n < text.size(); ++n) {
    SCOPED_TRACE(n);
    const auto result = import(text.substr(0, n));
    if (n <= text.find("[")) {
      EXPECT_FALSE(result.ok());
      continue;
    }
    ASSERT_TRUE(result.ok());
    const std::size_t whole = n >= second_end ? 2 : n >= first_end ? 1 : 0;
    EXPECT_EQ(result->trace.spans.size(), whole);
    EXPECT_TRUE(result->summary.truncated);
    EXPECT_EQ(result->trace.integrity.notes.size(), 1u);
  }
  EXPECT_FALSE(imported(text).summary.truncated);
}

TEST(Import, AnArrayNeedsNoEnd) {
  for (const char* end : {"", ",", ",\n", "]", "] trailing"}) {
    const Imported i =
        imported(std::string(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":1})") + end);
    EXPECT_EQ(i.trace.spans.size(), 1u);
    EXPECT_FALSE(i.summary.truncated);
    EXPECT_THAT(i.trace.integrity.notes, IsEmpty());
  }
}

TEST(Import, TimesFarFromTheOthersAreDropped) {
  const Imported i = imported(R"([
    {"ph":"X","name":"zero","pid":1,"tid":1,"ts":0,"dur":1},
    {"ph":"X","name":"a","pid":1,"tid":1,"ts":1743521598000000,"dur":1},
    {"ph":"X","name":"endless","pid":1,"tid":1,"ts":1743521598000001,"dur":4000000000000000},
    {"ph":"X","name":"b","pid":1,"tid":1,"ts":1743521598000003,"dur":1}])");
  EXPECT_THAT(spans(i.trace), ElementsAre("//a [0+1000]", "//b [3000+1000]"));
  EXPECT_THAT(i.trace.integrity.notes[0], HasSubstr("2 records with times more than a year"));
}

TEST(Import, StopsAfterTheEventsThatItMayKeep) {
  std::string text = "[";
  for (int i = 0; i < 50'000; ++i) {
    text += "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(i) +
            ",\"dur\":1},\n";
  }
  ImportOptions options;
  options.max_events = 1000;
  const auto result = import(text, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->trace.spans.size(), 1000u);
  EXPECT_TRUE(result->summary.stopped);
}

TEST(Import, ProgressMayStopIt) {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) {
    text += "{\"ph\":\"X\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":" + std::to_string(i) +
            ",\"dur\":1},\n";
  }
  ImportOptions options;
  std::uint64_t calls = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_LE(done, all);
    EXPECT_EQ(all, text.size());
    return ++calls < 3;
  };
  const auto result = import(text, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(calls, 3u);
  EXPECT_GT(result->trace.spans.size(), 0u);
  EXPECT_LT(result->trace.spans.size(), 100'000u);
  EXPECT_TRUE(result->summary.stopped);
}

}  // namespace
}  // namespace genscope
