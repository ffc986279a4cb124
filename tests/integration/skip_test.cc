// Spans that a session leaves out. Each in a child, with names of their own: a name keeps its
// number as long as its process lives.
#include "support.h"

namespace genscope::testing {
namespace {

void mark_a_pipeline() {
  {
    GENSCOPE_STAGE("skip_text");
    event("tokens");
  }
  GENSCOPE_STAGE("skip_denoise");
  for (int i = 0; i < 3; ++i) {
    Step step(i);
    Span inside("attention");
  }
  Stage dynamic{std::string("skip_decode")};
  const Handle detached = begin(SpanKind::stage, "skip_text");
  detached.arg("tokens", 77);
  end(detached);
}

void run_one(const TempDir& dir, const char* run, const std::vector<std::string>& skip) {
  SessionOptions options;
  options.run_dir = dir / run;
  options.skip = skip;
  const Session session("skipping", options);
  mark_a_pipeline();
}

Trace recorded(const TempDir& dir, const std::vector<std::string>& skip) {
  EXPECT_EQ(in_child([&] {
              run_one(dir, "run", skip);
              return 0;
            }),
            0);
  return only_trace(dir);
}

TEST(Skip, StepsLeaveTheirInsideToTheStage) {
  const TempDir dir;
  const Trace trace = recorded(dir, {"step"});
  expect_whole(trace);
  EXPECT_TRUE(spans_named(trace, "step").empty());
  const auto inside = spans_named(trace, "attention");
  ASSERT_EQ(inside.size(), 3u);
  for (const std::uint32_t span : inside) EXPECT_EQ(parent_name(trace, span), "skip_denoise");
  EXPECT_EQ(spans_named(trace, "skip_text").size(), 2u);
}

TEST(Skip, AStageByNameWhicheverWayItIsMarked) {
  const TempDir dir;
  const Trace trace = recorded(dir, {"stage/skip_text", "stage/skip_decode", "nonsense", ""});
  expect_whole(trace);  // and what is skipped is not lost
  EXPECT_TRUE(spans_named(trace, "skip_text").empty());
  EXPECT_TRUE(spans_named(trace, "skip_decode").empty());
  EXPECT_EQ(spans_named(trace, "step").size(), 3u);
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(spans_named(trace, "skip_denoise").size(), 1u);
}

TEST(Skip, TheNextSessionDecidesAnew) {
  const TempDir dir;
  ASSERT_EQ(in_child([&] {
              run_one(dir, "first", {"step", "stage/skip_text"});
              run_one(dir, "second", {});
              return 0;
            }),
            0);
  EXPECT_TRUE(spans_named(only_trace(dir / "first"), "step").empty());
  const Trace second = only_trace(dir / "second");
  EXPECT_EQ(spans_named(second, "step").size(), 3u);
  EXPECT_EQ(spans_named(second, "skip_text").size(), 2u);
}

TEST(Skip, TheEnvironmentAddsToIt) {
  const TempDir dir;
  ASSERT_EQ(in_child([&] {
              ::setenv("GENSCOPE_SKIP", "step,stage/skip_decode", 1);
              run_one(dir, "run", {"stage/skip_denoise"});
              return 0;
            }),
            0);
  const Trace trace = only_trace(dir);
  EXPECT_TRUE(spans_named(trace, "step").empty());
  EXPECT_TRUE(spans_named(trace, "skip_decode").empty());
  EXPECT_TRUE(spans_named(trace, "skip_denoise").empty());
  EXPECT_EQ(spans_named(trace, "attention").size(), 3u);
}

}  // namespace
}  // namespace genscope::testing
