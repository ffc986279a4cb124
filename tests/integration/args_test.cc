// Everything that can hang on a span, and everything that is not one.
#include <cmath>
#include <limits>
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

struct Value {
  ArgType type;
  std::uint64_t bits;
  std::string text;
};

std::map<std::string, Value> args_of(const Trace& trace, std::uint32_t owner,
                                     const ArgColumns& args) {
  std::map<std::string, Value> out;
  for (std::size_t a = 0; a < args.size(); ++a) {
    if (args.owner[a] != owner) continue;
    const bool text = args.type[a] == ArgType::text;
    out[trace.names[args.key[a]].text] = {args.type[a], args.bits[a],
                                          text ? trace.texts[args.bits[a]] : ""};
  }
  return out;
}
std::map<std::string, Value> args_of(const Trace& trace, std::uint32_t span) {
  return args_of(trace, span, trace.span_args);
}

double as_double(const Value& v) { return __builtin_bit_cast(double, v.bits); }
std::int64_t as_int(const Value& v) { return static_cast<std::int64_t>(v.bits); }

TEST(Args, EveryTypeKeepsItsValue) {
  const TempDir dir;
  using I64 = std::numeric_limits<std::int64_t>;
  using U64 = std::numeric_limits<std::uint64_t>;
  {
    const Session session("types", options_in(dir));
    const Stage stage("s", {{"int", 42},
                            {"negative", -7},
                            {"int_min", I64::min()},
                            {"int_max", I64::max()},
                            {"uint_max", U64::max()},
                            {"just_small", (std::uint64_t{1} << 40) - 1},
                            {"just_wide", std::uint64_t{1} << 40},
                            {"char", 'x'},
                            {"float", 0.25F},
                            {"double", -1e300},
                            {"inf", std::numeric_limits<double>::infinity()},
                            {"nan", std::nan("")},
                            {"true", true},
                            {"false", false},
                            {"text", "hello"},
                            {"empty", ""},
                            {"null", static_cast<const char*>(nullptr)},
                            {"view", std::string_view("a\0b", 3)}});
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  auto a = args_of(trace, span_named(trace, "s"));
  EXPECT_EQ(a.size(), 18u);
  EXPECT_EQ(as_int(a["int"]), 42);
  EXPECT_EQ(as_int(a["negative"]), -7);
  EXPECT_EQ(a["negative"].type, ArgType::int64);
  EXPECT_EQ(as_int(a["int_min"]), I64::min());
  EXPECT_EQ(as_int(a["int_max"]), I64::max());
  EXPECT_EQ(a["uint_max"].bits, U64::max());
  EXPECT_EQ(a["uint_max"].type, ArgType::uint64);
  EXPECT_EQ(a["just_small"].bits, (std::uint64_t{1} << 40) - 1);
  EXPECT_EQ(a["just_wide"].bits, std::uint64_t{1} << 40);
  EXPECT_EQ(as_int(a["char"]), 'x');
  EXPECT_EQ(as_double(a["float"]), 0.25);
  EXPECT_EQ(a["float"].type, ArgType::float64);
  EXPECT_EQ(as_double(a["double"]), -1e300);
  EXPECT_TRUE(std::isinf(as_double(a["inf"])));
  EXPECT_TRUE(std::isnan(as_double(a["nan"])));
  EXPECT_EQ(a["true"].type, ArgType::boolean);
  EXPECT_EQ(a["true"].bits, 1u);
  EXPECT_EQ(a["false"].bits, 0u);
  EXPECT_EQ(a["text"].text, "hello");
  EXPECT_EQ(a["empty"].type, ArgType::text);
  EXPECT_EQ(a["empty"].text, "");
  EXPECT_EQ(a["null"].text, "");
  EXPECT_EQ(a["view"].text, std::string("a\0b", 3));
}

TEST(Args, StaticKeysKeepTheirValues) {
  const TempDir dir;
  {
    const Session session("static", options_in(dir));
    for (int round = 0; round < 2; ++round) {  // the first goes through the slow path
      GENSCOPE_STAGE("s", GENSCOPE_ARG("int", -5), GENSCOPE_ARG("wide", std::int64_t{1} << 50),
                     GENSCOPE_ARG("uint", ~std::uint64_t{0}), GENSCOPE_ARG("float", 0.5F),
                     GENSCOPE_ARG("double", 2.5), GENSCOPE_ARG("size", sizeof(int)),
                     GENSCOPE_ARG("flag", true));
    }
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const auto spans = spans_named(trace, "s");
  ASSERT_EQ(spans.size(), 2u);
  for (const std::uint32_t s : spans) {
    auto a = args_of(trace, s);
    EXPECT_EQ(a.size(), 7u);
    EXPECT_EQ(as_int(a["int"]), -5);
    EXPECT_EQ(a["int"].type, ArgType::int64);
    EXPECT_EQ(as_int(a["wide"]), std::int64_t{1} << 50);
    EXPECT_EQ(a["uint"].bits, ~std::uint64_t{0});
    EXPECT_EQ(a["uint"].type, ArgType::uint64);
    EXPECT_EQ(as_double(a["float"]), 0.5);
    EXPECT_EQ(as_double(a["double"]), 2.5);
    EXPECT_EQ(a["size"].bits, sizeof(int));
    EXPECT_EQ(a["flag"].bits, 1u);
  }
}

TEST(Args, LongTextsAndNamesAreCutAtACharacter) {
  const TempDir dir;
  const std::string text = std::string(kMaxTextBytes - 1, 't') + "€uro";
  const std::string name = std::string(kMaxNameBytes - 2, 'n') + "€uro";
  const std::string key = std::string(400, 'k');
  {
    const Session session("long", options_in(dir));
    const Stage stage(name, {{"text", text}, {key, 1}});
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const std::uint32_t s = span_named(trace, name.substr(0, kMaxNameBytes - 2));
  ASSERT_NE(s, kNone);
  auto a = args_of(trace, s);
  EXPECT_EQ(a["text"].text, std::string(kMaxTextBytes - 1, 't'));
  EXPECT_EQ(a.count(key.substr(0, kMaxNameBytes)), 1u);
}

TEST(Args, ManyArgumentsAreKeptOrCounted) {
  const TempDir dir;
  std::uint64_t lost = 0;
  {
    const Session session("many", options_in(dir));
    const std::uint64_t before = recorder_stats().dropped_records;
    const Stage stage(
        "s", {{"0", 0},   {"1", 1},   {"2", 2},   {"3", 3},   {"4", 4},   {"5", 5},   {"6", 6},
              {"7", 7},   {"8", 8},   {"9", 9},   {"10", 10}, {"11", 11}, {"12", 12}, {"13", 13},
              {"14", 14}, {"15", 15}, {"16", 16}, {"17", 17}, {"18", 18}, {"19", 19}, {"20", 20},
              {"21", 21}, {"22", 22}, {"23", 23}, {"24", 24}, {"25", 25}, {"26", 26}, {"27", 27},
              {"28", 28}, {"29", 29}, {"30", 30}, {"31", 31}, {"32", 32}, {"33", 33}, {"34", 34},
              {"35", 35}, {"36", 36}, {"37", 37}, {"38", 38}, {"39", 39}});
    for (int i = 40; i < 1040; ++i) stage.arg(std::to_string(i), i);
    lost = recorder_stats().dropped_records - before;
  }
  const Trace trace = only_trace(dir);
  auto a = args_of(trace, span_named(trace, "s"));
  EXPECT_EQ(a.size() + lost, 1040u);
  EXPECT_GE(a.size(), 1032u);
  std::uint64_t told = 0;
  for (const TrackInfo& t : trace.tracks) told += t.dropped_records;
  EXPECT_EQ(told, lost);
  for (const auto& [key, value] : a) EXPECT_EQ(std::to_string(value.bits), key);
}

TEST(Args, AfterTheEndAndFromAnotherThread) {
  const TempDir dir;
  {
    const Session session("late", options_in(dir));
    Handle handle, detached;
    {
      const Stage stage("scoped");
      handle = stage.handle();
      std::thread([&] { handle.arg("thread", 1); }).join();
    }
    handle.arg("after", 2);
    detached = begin(SpanKind::request, "detached", {}, {{"first", 0}});
    end(detached);
    std::thread([&] {
      detached.arg("text", "late");
      detached.device_time(123, 456);
    }).join();
    Handle().arg("nobody's", 1);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  auto a = args_of(trace, span_named(trace, "scoped"));
  EXPECT_EQ(a["thread"].bits, 1u);
  EXPECT_EQ(a["after"].bits, 2u);
  const std::uint32_t detached = span_named(trace, "detached");
  auto d = args_of(trace, detached);
  EXPECT_EQ(d["first"].bits, 0u);
  EXPECT_EQ(d["text"].text, "late");
  EXPECT_EQ(trace.span_args.size(), 4u);
  ASSERT_EQ(trace.device.size(), 1u);
  EXPECT_EQ(trace.device.span[0], detached);
  EXPECT_EQ(trace.device.duration_ns[0], 123);
  EXPECT_EQ(trace.device.begin_ns[0], 456);
}

TEST(Args, DeviceTimesOfOneSpanAddUp) {
  const TempDir dir;
  {
    const Session session("device", options_in(dir));
    const Stage a("a"), b("b");
    b.device_time(10);
    a.device_time(1, 100);
    a.device_time(2, 200);
    a.device_time(0);
  }
  const Trace trace = only_trace(dir);
  ASSERT_EQ(trace.device.size(), 2u);
  EXPECT_EQ(trace.device.span[0], span_named(trace, "a"));
  EXPECT_EQ(trace.device.duration_ns[0], 3);
  EXPECT_EQ(trace.device.begin_ns[0], 100);
  EXPECT_EQ(trace.device.duration_ns[1], 10);
  EXPECT_EQ(trace.device.begin_ns[1], -1);
}

TEST(Args, TracksAreRowsOfTheirOwn) {
  const TempDir dir;
  {
    const Session session("tracks", options_in(dir));
    const Track gpu("gpu 0"), other("gpu 1"), again("gpu 0");
    const Handle a = begin(SpanKind::task, "a", Under{{}, gpu}, {{"x", 1}});
    std::thread([&] { end(begin(SpanKind::task, "b", Under{a, again})); }).join();
    const Handle c = begin(SpanKind::task, "c", Under{{}, other});
    end(c);
    end(a);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const auto track = [&](const char* name) { return trace.spans.track[span_named(trace, name)]; };
  EXPECT_EQ(trace.tracks[track("a")].name, "gpu 0");
  EXPECT_EQ(trace.tracks[track("a")].tid, 0u);
  EXPECT_EQ(track("b"), track("a"));
  EXPECT_EQ(trace.tracks[track("c")].name, "gpu 1");
  EXPECT_EQ(parent_name(trace, span_named(trace, "b")), "a");
  EXPECT_EQ(args_of(trace, span_named(trace, "a")).size(), 1u) << "the track is no argument";
}

TEST(Args, EventsAndCounters) {
  const TempDir dir;
  {
    const Session session("events", options_in(dir));
    event("alone", {{"x", 0.5}, {"text", "t"}});
    const Stage outer("outer");
    event("in outer");
    const Handle handle = begin(SpanKind::request, "request");
    event(handle, "on request", {{"n", 1}});
    std::thread([&] { event(handle, "from thread"); }).join();
    GENSCOPE_EVENT("static event");
    counter("loss", 0.125);
    counter("loss", -1);
    GENSCOPE_COUNTER("vram_bytes", 1e9);
    end(handle);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const auto event_named = [&](std::string_view name) {
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      if (trace.names[trace.events.name[i]].text == name) return i;
    }
    ADD_FAILURE() << name;
    return 0u;
  };
  const auto span_of = [&](std::string_view name) {
    const std::uint32_t s = trace.events.span[event_named(name)];
    return s == kNone ? std::string() : trace.span_name(s);
  };
  EXPECT_EQ(trace.events.size(), 5u);
  EXPECT_EQ(span_of("alone"), "");
  EXPECT_EQ(span_of("in outer"), "outer");
  EXPECT_EQ(span_of("on request"), "request");
  EXPECT_EQ(span_of("from thread"), "request");
  EXPECT_EQ(span_of("static event"), "outer");
  auto a = args_of(trace, event_named("alone"), trace.event_args);
  EXPECT_EQ(as_double(a["x"]), 0.5);
  EXPECT_EQ(a["text"].text, "t");
  ASSERT_EQ(trace.counters.size(), 3u);
  EXPECT_EQ(trace.counters.value, (std::vector<double>{0.125, -1, 1e9}));
  EXPECT_EQ(trace.names[trace.counters.name[0]].text, "loss");
  EXPECT_EQ(trace.counters.name[0], trace.counters.name[1]);
  EXPECT_LE(trace.counters.at_ns[0], trace.counters.at_ns[1]);
}

TEST(Args, ThreadsAreNamedByTheProgramOrTheSystem) {
  const TempDir dir;
  {
    const Session session("names", options_in(dir));
    std::thread([] {
      ::pthread_setname_np(::pthread_self(), "system-name");
      const Stage stage("by system");
    }).join();
    std::thread([] {
      const Stage stage("by program");
      name_thread("the decoder");
      name_thread("the very decoder");
    }).join();
  }
  const Trace trace = only_trace(dir);
  const auto row = [&](const char* name) -> const TrackInfo& {
    return trace.tracks[trace.spans.track[span_named(trace, name)]];
  };
  EXPECT_EQ(row("by system").name, "system-name");
  EXPECT_NE(row("by system").tid, 0u);
  EXPECT_EQ(row("by program").name, "the very decoder");
  EXPECT_NE(row("by program").tid, row("by system").tid);
}

TEST(Args, KindsStepsAndBlocks) {
  const TempDir dir;
  {
    const Session session("kinds", options_in(dir));
    const Load load("load");
    const Forward forward("forward");
    const Epoch epoch("epoch");
    const Batch batch("batch");
    const genscope::Task task("task");
    const Step step(7, {{"sigma", 0.5}});
    const Block block(3, {{"frames", 4}});
    Stage failed("failed");
    failed.fail();
    failed.end();
    failed.end();
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  for (const SpanKind kind : {SpanKind::load, SpanKind::forward, SpanKind::epoch, SpanKind::batch,
                              SpanKind::task, SpanKind::step, SpanKind::block}) {
    const std::uint32_t s = span_named(trace, name(kind));
    ASSERT_NE(s, kNone);
    EXPECT_EQ(trace.kind(s), kind);
  }
  auto step = args_of(trace, span_named(trace, "step"));
  EXPECT_EQ(step["index"].bits, 7u);
  EXPECT_EQ(as_double(step["sigma"]), 0.5);
  auto block = args_of(trace, span_named(trace, "block"));
  EXPECT_EQ(block["index"].bits, 3u);
  EXPECT_EQ(block["frames"].bits, 4u);
  EXPECT_EQ(trace.spans.flags[span_named(trace, "failed")], kSpanFailed);
}

}  // namespace
}  // namespace genscope::testing
