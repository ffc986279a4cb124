// Ways to record nothing, and to record without a Session.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

TEST(Disabled, ByTheEnvironmentNothingIsMade) {
  const TempDir dir;
  for (const char* value : {"1", "yes"}) {
    const Ended ended =
        run_helper(dir, "burst", {dir / "run", "1000"}, {{"GENSCOPE_DISABLE", value}});
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_EQ(ended.err, "");
    EXPECT_NE(ended.out.find("recorded=0 lost=0 active=0"), std::string::npos) << ended.out;
    EXPECT_FALSE(std::filesystem::exists(dir / "run"));
  }
}

TEST(Disabled, TheEnvironmentSetToZeroOrEmptyDisablesNothing) {
  for (const char* value : {"0", ""}) {
    const TempDir dir;
    const Ended ended =
        run_helper(dir, "burst", {dir / "run", "1000"}, {{"GENSCOPE_DISABLE", value}});
    EXPECT_EQ(ended.exit_code, 0);
    EXPECT_EQ(spans_named(only_trace(dir), "burst").size(), 2001u);
  }
}

TEST(Disabled, WithoutASessionNothingHappens) {
  const TempDir dir;
  const int code = in_child([&] {
    if (::chdir(dir.path().c_str()) != 0) return 1;
    const Stage stage("nothing", {{"a", 1}});
    GENSCOPE_STEP(1);
    stage.arg("b", 2);
    stage.device_time(1);
    event("e");
    counter("c", 1);
    end(begin(SpanKind::request, "r"));
    name_thread("t");
    const Track track("track");
    flush();
    const RecorderStats stats = recorder_stats();
    return stage.recorded() || stats.active || stats.dropped_spans != 0 ? 2 : 0;
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Disabled, TheSwitchTurnsSpansOffAndOn) {
  const TempDir dir;
  {
    const Session session("switch", options_in(dir));
    EXPECT_TRUE(enabled());
    const Stage open("open across");
    { const Stage stage("before"); }
    set_enabled(false);
    EXPECT_FALSE(enabled());
    {
      const Stage stage("off");
      EXPECT_FALSE(stage.recorded());
      event("off");
      counter("off", 1);
      std::thread([] { const Stage inner("off in thread"); }).join();
    }
    const Stage begun_off("begun off");
    set_enabled(true);
    { const Stage stage("after"); }
  }
  EXPECT_TRUE(enabled());
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(trace.spans.size(), 4u);
  EXPECT_EQ(parent_name(trace, span_named(trace, "before")), "open across");
  EXPECT_EQ(parent_name(trace, span_named(trace, "after")), "open across");
  EXPECT_EQ(trace.events.size() + trace.counters.size(), 0u);
}

TEST(Disabled, ASpanThatEndsWhileOffStillEnds) {
  const TempDir dir;
  {
    const Session session("switch", options_in(dir));
    {
      const Stage stage("ends while off");
      set_enabled(false);
    }
    set_enabled(true);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_NE(span_named(trace, "ends while off"), kNone);
}

TEST(Disabled, OffBeforeTheSessionMakesFilesOnlyWhenOn) {
  const TempDir dir;
  set_enabled(false);
  {
    const Session session("off", options_in(dir));
    const Stage stage("off");
    EXPECT_FALSE(stage.recorded());
    set_enabled(true);
    const Stage on("on");
    EXPECT_TRUE(on.recorded());
  }
  const Trace trace = only_trace(dir);
  EXPECT_TRUE(spans_named(trace, "off").empty() ||
              trace.kind(span_named(trace, "off")) == SpanKind::session);
  EXPECT_NE(span_named(trace, "on"), kNone);
}

TEST(Disabled, ARunDirectoryInTheEnvironmentNeedsNoSession) {
  const TempDir dir;
  const Ended ended = run_helper(dir, "no_session", {"3"}, {{"GENSCOPE_RUN_DIR", dir / "run"}});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(spans_named(trace, "without a session").size(), 3u);
}

TEST(Disabled, ARunDirectoryWithoutSpansStaysEmpty) {
  const TempDir dir;
  const Ended ended = run_helper(dir, "no_session", {"0"}, {{"GENSCOPE_RUN_DIR", dir / "run"}});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(dir / "run"));
}

TEST(Disabled, ASessionJoinsTheRunOfTheEnvironment) {
  const TempDir dir;
  const int code = in_child([&] {
    ::setenv("GENSCOPE_RUN_DIR", (dir / "run").c_str(), 1);
    Session session("joined");
    const Stage stage("in it");
    return session.run_dir() == dir / "run" ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_NE(span_named(only_trace(dir), "in it"), kNone);
}

}  // namespace
}  // namespace genscope::testing
