// Ends of sessions and of processes, orderly and not.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

Trace after(const std::string& how) {
  const TempDir dir;
  const Ended ended = run_helper(dir, "exit_ways", {dir / "run", how});
  EXPECT_EQ(ended.exit_code, 0) << how << ": signal " << ended.signal << " " << ended.err;
  Trace trace = only_trace(dir);
  expect_sound(trace);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_NE(span_named(trace, "in main"), kNone);
  return trace;
}

TEST(Exit, ReturnFromMainClosesTheTrace) { EXPECT_TRUE(after("return").integrity.closed); }
TEST(Exit, ExitClosesTheTrace) { EXPECT_TRUE(after("exit").integrity.closed); }
TEST(Exit, QuickExitClosesTheTrace) { EXPECT_TRUE(after("quick_exit").integrity.closed); }

TEST(Exit, ExitInAThreadClosesTheTrace) {
  const Trace trace = after("exit in thread");
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_NE(span_named(trace, "in thread"), kNone);
}

TEST(Exit, UnderscoreExitIsRecovered) {
  const Trace trace = after("_exit");
  EXPECT_FALSE(trace.integrity.closed);
  EXPECT_GT(trace.integrity.recovered_chunks, 0u);
}

TEST(Exit, ASpanThatNeverEndsIsUnfinishedNotLost) {
  const Trace trace = after("open span");
  const std::uint32_t s = span_named(trace, "never ended");
  ASSERT_NE(s, kNone);
  EXPECT_EQ(trace.spans.flags[s] & kSpanUnfinished, kSpanUnfinished);
  EXPECT_TRUE(trace.integrity.closed);
}

TEST(Exit, ThreadsThatStillRecordDoNoHarm) {
  for (int i = 0; i < 5; ++i) {
    const Trace trace = after("running threads");
    EXPECT_TRUE(trace.integrity.closed);
    EXPECT_EQ(trace.integrity.missing_chunks, 0u);
    EXPECT_GT(spans_named(trace, "for ever").size(), 0u);
  }
}

TEST(Exit, ThreadDestructorsMayRecord) {
  const Trace trace = after("thread destructor");
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_NE(span_named(trace, "in thread"), kNone);
  for (std::size_t s = 0; s < trace.spans.size(); ++s) {
    EXPECT_TRUE(finished(trace, s) || trace.kind(s) == SpanKind::session) << trace.span_name(s);
  }
}

TEST(Exit, AfterCloseNothingIsRecordedAndNothingBreaks) {
  const TempDir dir;
  auto open = std::unique_ptr<Stage>();
  Handle handle;
  {
    Session session("close", options_in(dir));
    open = std::make_unique<Stage>("open at close");
    handle = begin(SpanKind::request, "request open at close");
    session.close();
    session.close();
    EXPECT_FALSE(session.active());
    const Stage stage("after close");
    EXPECT_FALSE(stage.recorded());
  }
  open.reset();
  handle.arg("late", 1);
  handle.device_time(1);
  event(handle, "late");
  end(handle);
  event("late");
  counter("late", 1);
  name_thread("late");
  flush();
  const Trace trace = only_trace(dir);
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_EQ(trace.integrity.unfinished_spans, 2u);
  EXPECT_TRUE(spans_named(trace, "after close").empty());
  EXPECT_EQ(trace.events.size(), 0u);
}

TEST(Exit, SessionsInSequenceAreTracesOfTheirOwn) {
  const TempDir dir;
  auto across = std::unique_ptr<Stage>();
  for (int i = 0; i < 3; ++i) {
    const Session session("sequence", options_in(dir));
    if (i == 1) across.reset();  // began in the trace before
    { GENSCOPE_STAGE("static"); }
    const Stage stage("number " + std::to_string(i));
    if (i == 0) across = std::make_unique<Stage>("across");
  }
  const auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->traces.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Trace& t = run->traces[i];
    EXPECT_TRUE(t.integrity.closed);
    EXPECT_EQ(t.integrity.bad_words, 0u);
    EXPECT_EQ(t.integrity.unfinished_spans, i == 0 ? 1u : 0u);
    EXPECT_NE(span_named(t, "number " + std::to_string(i)), kNone);
    EXPECT_NE(span_named(t, "static"), kNone) << "a static name keeps its meaning";
    EXPECT_EQ(t.kind(span_named(t, "static")), SpanKind::stage);
  }
}

TEST(Exit, NestedSessionsShareOneTrace) {
  const TempDir dir;
  {
    const Session outer("outer", options_in(dir));
    {
      SessionOptions other;
      other.run_dir = dir / "not used";
      const Session inner("inner", other);
      EXPECT_EQ(inner.run_dir(), outer.run_dir());
      const Stage stage("in both");
    }
    EXPECT_TRUE(outer.active());
    const Stage stage("in outer");
  }
  EXPECT_FALSE(std::filesystem::exists(dir / "not used"));
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  for (const char* name : {"outer", "inner"}) {
    EXPECT_EQ(trace.kind(span_named(trace, name)), SpanKind::session);
  }
  EXPECT_NE(span_named(trace, "in outer"), kNone);
}

TEST(Exit, SessionsOpenAndCloseWhileThreadsRecord) {
  const TempDir dir;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        GENSCOPE_STAGE("outer");
        const Span inner(SpanKind::function, "inner", {{"a", 1}});
        event("event");
      }
    });
  }
  const std::size_t sessions = scaled(60);
  for (std::size_t i = 0; i < sessions; ++i) {
    SessionOptions options = options_in(dir);
    options.buffer_bytes = 2 << 20;
    const Session session("s", options);
    ASSERT_TRUE(session.active()) << session.error();
    spin_ns(2'000'000);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  const auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(run->notes.empty());
  EXPECT_EQ(run->traces.size(), sessions);
  for (const Trace& t : run->traces) {
    expect_sound(t);
    EXPECT_TRUE(t.integrity.closed);
    EXPECT_EQ(t.integrity.bad_words, 0u) << t.process.trace_id;
    EXPECT_EQ(t.integrity.missing_chunks, 0u);
    EXPECT_LE(t.integrity.unfinished_spans, 4u) << "only what was open at the close";
  }
  for (const auto& e : std::filesystem::directory_iterator(dir / "run")) {
    EXPECT_NE(e.path().extension(), ".live") << e.path();
  }
}

}  // namespace
}  // namespace genscope::testing
