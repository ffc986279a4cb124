#include "analyze/compare/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <genscope/analyze.h>

#include "analyze/compare/judge.h"
#include "analyze/testing/trace_builder.h"
#include "testing/random.h"

namespace genscope {
namespace {

using ::testing::ElementsAre;
using testing::make_run;
using ::testing::SizeIs;
using testing::TraceBuilder;

// Neighbours that resemble each other, as spans of one run do while clocks and caches drift.
std::vector<double> drifting(testing::Random& random, int count, double r) {
  std::vector<double> logs;
  double state = 0;
  for (int i = -100; i < count; ++i) {
    const double u = static_cast<double>(random.below(1'000'000)) / 1e6 - 0.5;
    state = r * state + u;
    if (i >= 0) logs.push_back(state);
  }
  return logs;
}

TEST(CompareSamples, SpansThatDriftAreWorthFewer) {
  testing::Random random(11);
  const auto worth = [&](double r) {
    analysis::Worth all;
    for (const double log : drifting(random, 20'000, r)) all.add(log);
    return static_cast<double>(all.values());
  };
  EXPECT_EQ(worth(0), 20'000);
  EXPECT_NEAR(worth(0.5), 20'000 / 3.0, 700);
  EXPECT_NEAR(worth(0.9), 20'000 / 19.0, 250);
  analysis::Worth rising, equal, few;
  for (int i = 0; i < 10; ++i) {
    rising.add(i);
    equal.add(5);
  }
  few.add(1);
  EXPECT_EQ(rising.values(), analysis::kLeastValues);
  EXPECT_EQ(equal.values(), 10u);
  EXPECT_EQ(few.values(), 1u);
}

TEST(CompareSamples, DriftAloneIsNoDifference) {
  testing::Random random(5);
  const auto run = [&] {
    TraceBuilder t;
    std::int64_t at = 0;
    for (const double log : drifting(random, 100, 0.8)) {
      const auto ns = static_cast<std::int64_t>(1e6 * std::exp(0.1 * log));
      t.span("f", SpanKind::function, at, ns);
      at += ns;
    }
    return make_run(t.trace());
  };
  int wrong = 0;
  constexpr int kPairs = 300;
  for (int i = 0; i < kPairs; ++i) {
    const genscope::Run a = run(), b = run();
    const analysis::RunSamples x = analysis::gather_samples(a), y = analysis::gather_samples(b);
    const auto ratio = analysis::ratio_of(x.rows[0].sample, y.rows[0].sample);
    wrong += ratio && (ratio->low > 1 || ratio->high < 1) ? 1 : 0;
  }
  EXPECT_LT(wrong, kPairs / 10) << "as if they were independent: half of them";
}

TEST(CompareSamples, SteadyStepsAreThoseOfTheReport) {
  const auto run = [](const std::vector<std::vector<std::int64_t>>& loops, SpanKind wrapper) {
    TraceBuilder t;
    std::int64_t at = 0;
    for (const std::vector<std::int64_t>& loop : loops) {
      const auto around = t.span("loop", SpanKind::stage, at, 1000);
      for (const std::int64_t ns : loop) {
        const auto each = t.span("each", wrapper, at, ns, {.parent = around});
        t.span("step", SpanKind::step, at, ns, {.parent = each});
        at += ns;
      }
    }
    return make_run(t.trace());
  };
  const genscope::Run warm = run({{90, 20, 10, 11, 12}, {60, 11, 12, 13}}, SpanKind::function);
  const analysis::RunSamples samples = analysis::gather_samples(warm);
  const StepSummary steps = analyze(warm).steps;
  EXPECT_EQ(samples.steady.count, 6u);
  EXPECT_EQ(samples.steady.count, steps.steady_count);
  EXPECT_EQ(samples.steady.median_ns, static_cast<double>(*steps.steady_p50_ns));

  const auto length = [&](const std::vector<std::vector<std::int64_t>>& loops, SpanKind wrapper) {
    return analysis::gather_samples(run(loops, wrapper)).steps_per_loop;
  };
  EXPECT_EQ(length({{1, 1, 1, 1}, {1, 1, 1, 1}}, SpanKind::function), 4u) << "through functions";
  EXPECT_EQ(length({{1, 1, 1, 1}, {1, 1}}, SpanKind::function), std::nullopt);
  EXPECT_EQ(length({{1, 1, 1, 1}}, SpanKind::block), 1u) << "a block is no wrapper";
}

TEST(CompareSamples, SortIsThatOfTheLibrary) {
  testing::Random random(3);
  std::vector<std::int64_t> scratch;
  for (const std::uint64_t most :
       {std::uint64_t{10}, std::uint64_t{1} << 33, std::uint64_t{1} << 62}) {
    std::vector<std::int64_t> values(10'000);
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random.below(most));
    std::vector<std::int64_t> expected = values;
    std::sort(expected.begin(), expected.end());
    analysis::sort_durations(values, scratch);
    EXPECT_EQ(values, expected) << most;
  }
}

TEST(CompareSamples, ThinningKeepsTheMedianAndTheTails) {
  TraceBuilder t;
  constexpr std::int64_t kSpans = 100'001;
  constexpr std::int64_t kStride = 61'803;  // visits every length once, neighbours far apart
  for (std::int64_t i = 0; i < kSpans; ++i) {
    t.span("f", SpanKind::function, i, i * kStride % kSpans + 1);
  }
  const analysis::RunSamples samples = analysis::gather_samples(make_run(t.trace()));
  ASSERT_THAT(samples.rows, SizeIs(1));
  const analysis::Sample& sample = samples.rows[0].sample;
  EXPECT_EQ(sample.count, static_cast<std::uint64_t>(kSpans));
  EXPECT_EQ(sample.median_ns, (kSpans + 1) / 2);
  ASSERT_THAT(sample.logs, SizeIs(analysis::kMostValues));
  EXPECT_TRUE(std::is_sorted(sample.logs.begin(), sample.logs.end()));
  EXPECT_NEAR(std::exp(sample.logs.front()), kSpans / 2000.0, 2);
  EXPECT_NEAR(std::exp(sample.logs[500]), kSpans / 2.0, 100);
  EXPECT_NEAR(std::exp(sample.logs.back()), kSpans * 0.9995, 2);
}

}  // namespace
}  // namespace genscope
