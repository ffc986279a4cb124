#include "analyze/stacks.h"

#include <gtest/gtest.h>

#include <string>

#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

constexpr std::int64_t kMs = 1'000'000;

// main() calls work(), which calls itself and an import; another thread is in wait().
void define(TraceBuilder& t) {
  t.event("genscope.stacks", 0, {{"rate", 50}});
  t.event("genscope.frame", 0, {{"id", 1}, {"name", "main"}, {"file", "/a/app.py"}, {"line", 3}});
  t.event("genscope.frame", 0, {{"id", 2}, {"name", "work"}, {"file", "/a/app.py"}, {"line", 9}});
  t.event("genscope.frame", 0,
          {{"id", 3}, {"name", "_load"}, {"file", "<frozen importlib._bootstrap>"}, {"line", 1}});
  t.event("genscope.frame", 0, {{"id", 4}, {"name", "wait"}, {"file", "/a/app.py"}, {"line", 30}});
  t.event("genscope.node", 0, {{"id", 1}, {"parent", 0.0}, {"frame", 1}});
  t.event("genscope.node", 0, {{"id", 2}, {"parent", 1}, {"frame", 2}});
  t.event("genscope.node", 0, {{"id", 3}, {"parent", 2}, {"frame", 2}});
  t.event("genscope.node", 0, {{"id", 4}, {"parent", 2}, {"frame", 3}});
  t.event("genscope.node", 0, {{"id", 5}, {"parent", 0.0}, {"frame", 4}});
  t.event("genscope.thread", 0, {{"tid", 1000}, {"name", "MainThread"}});
}

// In that stack from `begin_ms` for `ms`.
void stack(TraceBuilder& t, double tid, double node, int begin_ms, int ms, int cpu_ms) {
  t.event("genscope.stack", (begin_ms + ms + 5) * kMs,
          {{"tid", tid},
           {"node", node},
           {"us", ms * 1e3},
           {"ago_us", 5000},
           {"cpu_us", cpu_ms * 1e3},
           {"samples", ms / 20.0}});
}

std::string tree_text(const Sampled& sampled) {
  std::string text;
  for (const SampledNode& node : sampled.nodes) {
    text += (node.parent == kNone ? "" : sampled.nodes[node.parent].name + "/") + node.name + " " +
            std::to_string(node.wall_ns / kMs) + " " + std::to_string(node.self_wall_ns / kMs) +
            "\n";
  }
  return text;
}

const SampledFunction& row(const Sampled& sampled, const std::string& name) {
  for (const SampledFunction& each : sampled.functions) {
    if (each.name == name) return each;
  }
  static const SampledFunction none;
  return none;
}

TEST(Stacks, LieBelowTheStagesThatWereOpenOnTheirThread) {
  TraceBuilder t;
  const auto outer = t.span("denoise", SpanKind::stage, 100 * kMs, 200 * kMs);
  t.span("step", SpanKind::step, 100 * kMs, 50 * kMs, {.parent = outer});
  t.span("decode", SpanKind::stage, 200 * kMs, 100 * kMs, {.parent = outer});
  define(t);
  stack(t, 1000, 2, 50, 200, 100);  // 50 ms outside, 100 in denoise, 50 in decode
  stack(t, 1000, 3, 250, 100, 0);   // 50 in decode, 50 outside; work() calls itself
  stack(t, 1000, 4, 350, 20, 20);
  stack(t, 77, 5, 0, 400, 4);
  const Sampled s = analysis::summarize_stacks(make_run(t.trace()));
  EXPECT_EQ(tree_text(s),
            "thread (1000/77) 400 0\n"
            "thread (1000/77)/wait 400 400\n"
            "MainThread (1000) 320 0\n"
            "MainThread (1000)/denoise 200 0\n"
            "denoise/main 100 0\n"
            "main/work 100 100\n"
            "denoise/decode 100 0\n"
            "decode/main 100 0\n"
            "main/work 100 100\n"
            "MainThread (1000)/main 120 0\n"
            "main/work 120 100\n"
            "work/(import) 20 20\n");
  EXPECT_EQ(s.main_ns, 320 * kMs);
  EXPECT_EQ(s.outside_ns, 120 * kMs);
  EXPECT_EQ(s.processes, 1U);
  EXPECT_EQ(s.threads, 2U);
  const SampledFunction& work = row(s, "work");
  EXPECT_EQ(work.self_ns, 300 * kMs);
  EXPECT_EQ(work.total_ns, 320 * kMs);
  EXPECT_EQ(work.outside_ns, 100 * kMs);
  EXPECT_EQ(work.self_cpu_ns, 100 * kMs);
  EXPECT_EQ(row(s, "main").total_ns, 320 * kMs);
  EXPECT_EQ(row(s, "main").self_ns, 0);
  EXPECT_EQ(row(s, "wait").self_ns, 0) << "not of the main thread";
  EXPECT_EQ(row(s, "wait").total_cpu_ns, 4 * kMs);
}

TEST(Stacks, AStageOfAnotherThreadIsOpenInTheProcessAllTheSame) {
  TraceBuilder t;
  t.span("serve", SpanKind::request, 0, 100 * kMs, {.flags = kSpanDetached});
  define(t);
  stack(t, 1000, 1, 50, 100, 0);
  const Sampled s = analysis::summarize_stacks(make_run(t.trace()));
  EXPECT_EQ(s.outside_ns, 50 * kMs);
  EXPECT_EQ(s.nodes[1].name, "main");
}

TEST(Stacks, WhatWasNotDefinedIsNobodys) {
  TraceBuilder t;
  t.event("genscope.node", 0, {{"id", 1}, {"parent", 7}, {"frame", 1}});
  t.event("genscope.node", 0, {{"id", 2}, {"parent", 2}, {"frame", 9}});
  stack(t, 1000, 1, 0, 100, 0);
  stack(t, 1000, 9, 100, 100, 0);
  const Sampled s = analysis::summarize_stacks(make_run(t.trace()));
  EXPECT_TRUE(s.functions.empty());
  EXPECT_EQ(s.main_ns, 200 * kMs);
  ASSERT_EQ(s.nodes.size(), 1U);
}

TEST(Stacks, TheSmallestNodesBecomeTheirParentsOwn) {
  TraceBuilder t;
  define(t);
  for (int i = 0; i < 5000; ++i) {
    t.event("genscope.frame", 0,
            {{"id", 100.0 + i}, {"name", "f"}, {"file", "x"}, {"line", i + 1.0}});
    t.event("genscope.node", 0, {{"id", 100.0 + i}, {"parent", 1}, {"frame", 100.0 + i}});
    stack(t, 1000, 100 + i, i * 100, i < 10 ? 90 : 1, 0);
  }
  const Sampled s = analysis::summarize_stacks(make_run(t.trace()));
  EXPECT_EQ(s.nodes.size(), kMaxSampledNodes);
  EXPECT_EQ(s.nodes_left_out, 5002 - kMaxSampledNodes);
  EXPECT_EQ(s.functions.size(), kMaxNamedRows);
  EXPECT_EQ(s.nodes[1].self_wall_ns, static_cast<std::int64_t>(s.nodes_left_out) * kMs);
}

TEST(Stacks, WithoutASamplerThereIsNothing) {
  TraceBuilder t;
  t.span("a", SpanKind::stage, 0, 10);
  EXPECT_EQ(analysis::summarize_stacks(make_run(t.trace())).processes, 0U);
}

}  // namespace
}  // namespace genscope
