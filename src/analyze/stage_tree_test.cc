#include "analyze/stage_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

// "name parent count total self steps" of each node, a line each.
std::string tree_text(const StageTree& tree) {
  std::string text;
  for (const StageNode& node : tree.nodes) {
    text += node.name + " in " + (node.parent == kNone ? "-" : tree.nodes[node.parent].name) + " " +
            std::to_string(node.count) + " " + std::to_string(node.total_ns) + " " +
            std::to_string(node.self_ns) + " " + std::to_string(node.steps) + "\n";
  }
  return text + "outside " + std::to_string(tree.outside_ns);
}

TEST(StageTree, NestsStagesAndLeavesStepsToThem) {
  TraceBuilder t;
  const auto session = t.span("s", SpanKind::session, 0, 1000, {.flags = kSpanDetached});
  t.span("load", SpanKind::load, 0, 100, {.parent = session});
  const auto outer = t.span("denoise", SpanKind::stage, 100, 800, {.parent = session});
  const auto step = t.span("step", SpanKind::step, 100, 400, {.parent = outer});
  t.span("cfg", SpanKind::stage, 150, 100, {.parent = step});
  t.span("step", SpanKind::step, 500, 400, {.parent = outer});
  t.span("cfg", SpanKind::stage, 950, 20, {.parent = session});
  const auto run = make_run(t.trace());
  EXPECT_EQ(tree_text(analysis::stage_tree(run, 1000)),
            "denoise in - 1 800 700 2\n"
            "cfg in denoise 1 100 100 0\n"
            "load in - 1 100 100 0\n"
            "cfg in - 1 20 20 0\n"
            "outside 80");
}

TEST(StageTree, CountsWhatOverlapsInARequestOnce) {
  TraceBuilder t;
  const auto worker = t.track("worker", 7);
  const auto request = t.span("r", SpanKind::request, 0, 100, {.flags = kSpanDetached});
  t.span("a", SpanKind::stage, 0, 60, {.parent = request});
  t.span("b", SpanKind::stage, 40, 40, {.parent = request, .track = worker});
  EXPECT_EQ(tree_text(analysis::stage_tree(make_run(t.trace()), 200)),
            "r in - 1 100 20 0\n"
            "a in r 1 60 60 0\n"
            "b in r 1 40 40 0\n"
            "outside 100");
}

TEST(StageTree, TakesTheWallTimeOncePerProcessWithStages) {
  TraceBuilder one(1), two(2), none(3);
  one.span("a", SpanKind::stage, 0, 60);
  two.span("a", SpanKind::stage, 20, 40);
  none.span("f", SpanKind::function, 0, 100);
  auto run = make_run(one.trace());
  run.traces.push_back(two.trace());
  run.traces.push_back(none.trace());
  const StageTree tree = analysis::stage_tree(run, 100);
  EXPECT_EQ(tree_text(tree), "a in - 2 100 100 0\noutside 100");
  EXPECT_EQ(tree.processes, 2u);
  EXPECT_EQ(tree.wall_ns, 200);
}

TEST(StageTree, SumsUpNamesWithoutEnd) {
  TraceBuilder t;
  for (int i = 0; i < 1200; ++i) t.span("n" + std::to_string(i), SpanKind::stage, i, 1);
  const StageTree tree = analysis::stage_tree(make_run(t.trace()), 1200);
  EXPECT_LE(tree.nodes.size(), kMaxNamedRows + 10);
  std::int64_t all = 0;
  for (const StageNode& node : tree.nodes) all += node.self_ns;
  EXPECT_EQ(all, 1200);
  EXPECT_EQ(tree.nodes.front().name, kOthers);
}

}  // namespace
}  // namespace genscope
