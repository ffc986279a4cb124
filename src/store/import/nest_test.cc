#include "store/import/nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace genscope::store {
namespace {

TEST(Nest, FindsParentsByTimeAlone) {
  const Nested n = nest({{20, 30, 2}, {0, 100, 0}, {10, 50, 1}, {60, 90, 3}}, 0);
  ASSERT_EQ(n.levels.size(), 1u);
  EXPECT_EQ(n.levels[0].parents, (std::vector<std::uint32_t>{kNone, 0, 1, 0}));
}

TEST(Nest, SlicesThatTouchAreSiblings) {
  const Nested n = nest({{0, 10, 0}, {10, 20, 1}, {20, 20, 2}, {20, 20, 3}}, 0);
  ASSERT_EQ(n.levels.size(), 1u);
  EXPECT_EQ(n.levels[0].parents, (std::vector<std::uint32_t>(4, kNone)));
}

TEST(Nest, OfEqualSlicesTheFirstIsTheOuter) {
  const Nested n = nest({{0, 10, 7}, {0, 10, 8}, {0, 10, 9}}, 0);
  EXPECT_EQ(n.levels[0].parents, (std::vector<std::uint32_t>{kNone, 7, 8}));
}

TEST(Nest, OverlapsGoToAStackOfTheirOwn) {
  const Nested n = nest({{0, 10, 0}, {5, 15, 1}, {6, 8, 2}, {12, 14, 3}}, 0);
  ASSERT_EQ(n.levels.size(), 2u);
  EXPECT_EQ(n.levels[1].slices[0].span, 1u);
  EXPECT_EQ(n.levels[0].parents, (std::vector<std::uint32_t>{kNone, 0, kNone}));
}

TEST(Nest, RoundedEndsAreCutToTheirParent) {
  const Nested n = nest({{0, 10'000, 0}, {5'000, 11'000, 1}}, 1000);
  ASSERT_EQ(n.levels.size(), 1u);
  EXPECT_EQ(n.trimmed, 1u);
  EXPECT_EQ(n.levels[0].slices[1].end_ns, 10'000);
  EXPECT_EQ(nest({{0, 10'000, 0}, {5'000, 11'001, 1}}, 1000).levels.size(), 2u);
}

TEST(Nest, LosesNothingWhenEverythingOverlaps) {
  std::vector<Slice> slices;
  for (std::uint32_t i = 0; i < 2'000; ++i) slices.push_back({i, i + 10'000, i});
  const Nested n = nest(slices, 0);
  ASSERT_EQ(n.levels.size(), kMaxStacks + 1);
  EXPECT_TRUE(n.levels.back().loose);
  std::size_t kept = 0;
  for (const NestLevel& level : n.levels) kept += level.slices.size();
  EXPECT_EQ(kept, slices.size());
}

TEST(Nest, HoldsAHundredThousandLevels) {
  std::vector<Slice> slices;
  for (std::uint32_t i = 0; i < 100'000; ++i) slices.push_back({i, 1'000'000 - i, i});
  const Nested n = nest(slices, 0);
  ASSERT_EQ(n.levels.size(), 1u);
  EXPECT_EQ(n.levels[0].parents.back(), 99'998u);
}

// Every stack of the result is one: who begins within a slice ends within it.
TEST(Nest, RandomSlicesMakeStacks) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Slice> slices;
    for (std::uint32_t i = 0; i < 60; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 50);
      slices.push_back({begin, begin + static_cast<std::int64_t>(random() % 20), i});
    }
    const Nested n = nest(slices, 0);
    std::size_t kept = 0;
    for (const NestLevel& level : n.levels) {
      kept += level.slices.size();
      if (level.loose) continue;
      for (const Slice& a : level.slices) {
        for (const Slice& b : level.slices) {
          const bool begins_within = b.begin_ns > a.begin_ns && b.begin_ns < a.end_ns;
          ASSERT_TRUE(!begins_within || b.end_ns <= a.end_ns);
        }
      }
    }
    ASSERT_EQ(kept, slices.size());
  }
}

TEST(Enclosing, IsTheInnermostAtThatTime) {
  const Nested n = nest({{0, 100, 0}, {10, 50, 1}, {20, 30, 2}, {60, 90, 3}}, 0);
  EXPECT_EQ(enclosing(n.levels[0], {-1, 0, 15, 25, 30, 40, 55, 100, 101}),
            (std::vector<std::uint32_t>{kNone, 0, 1, 2, 2, 1, 0, 0, kNone}));
}

}  // namespace
}  // namespace genscope::store
