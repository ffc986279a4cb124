#include "report/thin.h"

#include <gtest/gtest.h>

#include <numeric>

namespace genscope::report {
namespace {

std::vector<std::uint32_t> all(std::size_t count) {
  std::vector<std::uint32_t> places(count);
  std::iota(places.begin(), places.end(), 0u);
  return places;
}

TEST(Thin, KeepsAllThatFit) {
  const std::vector<double> values = {3, 1, 2};
  EXPECT_EQ(thinned(all(3), values, 0), all(3));
  EXPECT_EQ(thinned(all(3), values, 3), all(3));
  EXPECT_TRUE(thinned({}, values, 5).empty());
}

TEST(Thin, KeepsPeaksInOrderAndNeverMoreThanAsked) {
  std::vector<double> values(100'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 97);
  values[12'345] = 1e9;
  values[80'001] = -1e9;
  for (const std::uint64_t points : {2u, 3u, 10u, 999u, 99'999u}) {
    const auto kept = thinned(all(values.size()), values, points);
    EXPECT_LE(kept.size(), points);
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    EXPECT_TRUE(std::adjacent_find(kept.begin(), kept.end()) == kept.end()) << "none twice";
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 12'345u)) << points;
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), 80'001u)) << points;
  }
  EXPECT_EQ(thinned(all(values.size()), values, 1), std::vector<std::uint32_t>{12'345});
}

TEST(Thin, CoversTheWholeSeries) {
  const std::vector<double> values(1000, 7.0);
  const auto kept = thinned(all(1000), values, 10);
  EXPECT_LE(kept.size(), 10u);
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_GE(kept.back(), 800u);
}

}  // namespace
}  // namespace genscope::report
