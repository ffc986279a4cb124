#include "analyze/percentile.h"

#include <gtest/gtest.h>

#include <random>

#include "analyze/durations.h"

namespace genscope::analysis {
namespace {

TEST(NearestRank, IsTheSmallestValueThatCoversTheShare) {
  EXPECT_EQ(nearest_rank(1, 50), 0u);
  EXPECT_EQ(nearest_rank(2, 50), 0u);
  EXPECT_EQ(nearest_rank(3, 50), 1u);
  EXPECT_EQ(nearest_rank(20, 95), 18u);
  EXPECT_EQ(nearest_rank(21, 95), 19u);
  EXPECT_EQ(nearest_rank(100, 99), 98u);
  EXPECT_EQ(nearest_rank(100, 100), 99u);
  EXPECT_EQ(nearest_rank(5, 0), 0u);
}

void expect_all_ranks(const std::vector<std::uint32_t>& values) {
  std::vector<std::uint32_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  Selector selector(values);
  const std::size_t stride = std::max<std::size_t>(1, sorted.size() / 97);
  for (std::size_t rank = 0; rank < sorted.size(); rank += stride) {
    ASSERT_EQ(selector.at(rank), sorted[rank]) << rank << " of " << sorted.size();
  }
  ASSERT_EQ(selector.at(sorted.size() - 1), sorted.back());
}

TEST(Selector, AgreesWithSortingForFewManyNarrowAndSkewedValues) {
  std::mt19937 rng(1);
  for (const std::size_t n : {1u, 2u, 1024u, 1025u, 20'000u}) {
    for (const std::uint32_t range : {1u, 100u, 1'000'000u, 0xFFFFFFFFu}) {
      std::vector<std::uint32_t> values(n);
      for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(rng()) % range;
      expect_all_ranks(values);
      values[n / 2] = 0xFFFFFFFF;  // one outlier puts the rest into one bucket
      expect_all_ranks(values);
    }
  }
}

TEST(DurationSet, RanksRunFromShortToLong) {
  const std::vector<std::uint32_t> shorts = {7, 3};
  DurationSet set(shorts, {9'000'000'000, 5'000'000'000});
  EXPECT_EQ(set.size(), 4u);
  EXPECT_EQ(set.at(0), 3);
  EXPECT_EQ(set.at(1), 7);
  EXPECT_EQ(set.at(2), 5'000'000'000);
  EXPECT_EQ(set.at(3), 9'000'000'000);
}

}  // namespace
}  // namespace genscope::analysis
