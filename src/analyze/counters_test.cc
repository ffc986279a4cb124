#include "analyze/counters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analyze/testing/trace_builder.h"

namespace genscope {
namespace {

using testing::make_run;
using testing::TraceBuilder;

TEST(Counters, FirstAndLastAreByTimeOverAllProcesses) {
  TraceBuilder one(1);
  TraceBuilder two(2);
  one.counter("loss", 20, 4).counter("loss", 30, 3);
  two.counter("loss", 10, 8).counter("loss", 25, 5).counter("accuracy", 10, 1);
  const Analysis a = analyze(make_run(one.trace(), two.trace()));
  ASSERT_EQ(a.counters.size(), 2u);
  EXPECT_EQ(a.counters[0].name, "accuracy");
  const CounterRow& loss = a.counters[1];
  EXPECT_EQ(loss.count, 4u);
  EXPECT_EQ(loss.first, 8);
  EXPECT_EQ(loss.last, 3);
  EXPECT_EQ(loss.min, 3);
  EXPECT_EQ(loss.max, 8);
  EXPECT_DOUBLE_EQ(loss.mean, 5);
}

TEST(Counters, ValuesThatAreNotFiniteAreCountedApart) {
  TraceBuilder t;
  t.counter("loss", 1, std::nan("")).counter("loss", 2, 2).counter("loss", 3, 4);
  t.counter("loss", 4, std::numeric_limits<double>::infinity());
  const Analysis a = analyze(make_run(t.trace()));
  ASSERT_EQ(a.counters.size(), 1u);
  EXPECT_EQ(a.counters[0].count, 4u);
  EXPECT_EQ(a.counters[0].not_finite, 2u);
  EXPECT_EQ(a.counters[0].min, 2);
  EXPECT_EQ(a.counters[0].max, 4);
  EXPECT_DOUBLE_EQ(a.counters[0].mean, 3);
  EXPECT_TRUE(std::isnan(a.counters[0].first));
  EXPECT_TRUE(std::isinf(a.counters[0].last));
}

TEST(Counters, OfVeryManyNamesThoseWithTheMostValuesHaveARow) {
  TraceBuilder t;
  constexpr int kNames = static_cast<int>(kMaxNamedRows) + 10;
  for (int i = 0; i < kNames; ++i) {
    const std::string name = "c" + std::to_string(i);
    t.counter(name, i, i);
    if (i >= 10) t.counter(name, i + kNames, i);
  }
  const Analysis a = analyze(make_run(t.trace()));
  ASSERT_EQ(a.counters.size(), kMaxNamedRows + 1);
  const CounterRow& others = a.counters.back();
  EXPECT_EQ(others.name, kOthers);
  EXPECT_EQ(others.folded, 10u);
  EXPECT_EQ(others.count, 10u);
  EXPECT_DOUBLE_EQ(others.min, 0);
  EXPECT_DOUBLE_EQ(others.max, 9);
  EXPECT_DOUBLE_EQ(others.mean, 4.5);
}

}  // namespace
}  // namespace genscope
