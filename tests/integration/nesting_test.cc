// Nested spans: time counts once, parents are right, at any depth.
#include "genscope/analyze.h"
#include "support.h"

namespace genscope::testing {
namespace {

Analysis analyze_trace(const Trace& trace) {
  Run run;
  run.traces.push_back(trace);
  return analyze(run);
}

const StageRow& row(const Analysis& analysis, std::string_view name) {
  for (const StageRow& r : analysis.stages) {
    if (r.name == name) return r;
  }
  ADD_FAILURE() << "no row " << name;
  static const StageRow kNoRow;
  return kNoRow;
}

TEST(Nesting, AParentWithOneChildOfEqualLengthTotalsOnce) {
  const TempDir dir;
  Bounds measured;
  {
    const Session session("nesting", options_in(dir));
    { const Stage warm("warm"); }
    const std::int64_t begin = base::monotonic_ns();
    {
      const Stage parent("parent");
      const Stage child("child");
      const std::int64_t within = base::monotonic_ns();
      spin_ns(200'000'000);
      measured.inner_ns = base::monotonic_ns() - within;
    }
    measured.outer_ns = base::monotonic_ns() - begin;
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const Analysis analysis = analyze_trace(trace);
  expect_same_time(row(analysis, "parent").total_ns, measured);
  expect_same_time(row(analysis, "child").total_ns, measured);
  expect_same_time(row(analysis, "child").self_ns, measured);
  const std::int64_t outside_child = measured.outer_ns - measured.inner_ns;
  EXPECT_LE(row(analysis, "parent").self_ns, outside_child + measured.inner_ns / 100);
  expect_same_time(row(analysis, "parent").self_ns + row(analysis, "child").self_ns, measured);
}

TEST(Nesting, ASpanWithinItsOwnNameTotalsOnce) {
  const TempDir dir;
  Bounds measured;
  {
    const Session session("nesting", options_in(dir));
    { const Stage warm("warm"); }
    const std::int64_t begin = base::monotonic_ns();
    {
      const Stage outer("same");
      const Stage inner("same");
      const std::int64_t within = base::monotonic_ns();
      spin_ns(20'000'000);
      measured.inner_ns = base::monotonic_ns() - within;
    }
    measured.outer_ns = base::monotonic_ns() - begin;
  }
  const Analysis analysis = analyze_trace(only_trace(dir));
  EXPECT_EQ(row(analysis, "same").count, 2u);
  expect_same_time(row(analysis, "same").total_ns, measured);
  expect_same_time(row(analysis, "same").self_ns, measured);
}

void recurse(int depth) {
  GENSCOPE_SPAN("level", GENSCOPE_ARG("depth", depth));
  if (depth > 0) recurse(depth - 1);
}

void check_depth(int depth, bool pack) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.pack = pack;
  {
    const Session session("deep", options);
    recurse(depth - 1);
    recurse(10);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const auto levels = spans_named(trace, "level");
  ASSERT_EQ(levels.size(), static_cast<std::size_t>(depth) + 11);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::uint32_t parent = trace.spans.parent[levels[i]];
    if (i == 0 || i == static_cast<std::size_t>(depth)) {
      ASSERT_EQ(parent, kNone) << i;
      continue;
    }
    ASSERT_EQ(parent, levels[i - 1]) << i;
    const auto end = [&](std::uint32_t s) {
      return trace.spans.begin_ns[s] + trace.spans.duration_ns[s];
    };
    ASSERT_GE(trace.spans.begin_ns[levels[i]], trace.spans.begin_ns[parent]);
    ASSERT_LE(end(levels[i]), end(parent));
  }
}

TEST(Nesting, RecursionGivesAChainOfParents) { check_depth(100, true); }
TEST(Nesting, Depth5000) { check_depth(5000, true); }
TEST(Nesting, Depth5000NotPacked) { check_depth(5000, false); }

TEST(Nesting, SiblingsShareTheirParentOverManyChunks) {
  const TempDir dir;
  constexpr int kSteps = 30'000;  // several chunks of 64 KiB
  {
    const Session session("siblings", options_in(dir));
    const Stage stage("denoise");
    for (int i = 0; i < kSteps; ++i) const Step step(i);
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  const std::uint32_t stage = span_named(trace, "denoise");
  const auto steps = spans_named(trace, "step");
  ASSERT_EQ(steps.size(), kSteps);
  for (const std::uint32_t s : steps) ASSERT_EQ(trace.spans.parent[s], stage);
  ASSERT_EQ(trace.span_args.size(), kSteps);
  for (std::size_t i = 0; i < kSteps; ++i) ASSERT_EQ(trace.span_args.bits[i], i);
}

}  // namespace
}  // namespace genscope::testing
