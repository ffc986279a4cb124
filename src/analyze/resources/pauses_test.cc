#include "analyze/resources/pauses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "analyze/statistics/alike.h"

namespace genscope::analysis {
namespace {

// Readings every tenth of a second of a program that uses a CPU but for `stop` seconds at each
// multiple of `every`.
template <class Every>
Points busy_but(double seconds, Every&& stops_at) {
  Points points;
  double cpu = 0;
  for (int i = 0; i * 0.1 <= seconds; ++i) {
    points.at_ns.push_back(i * 100'000'000LL);
    points.value.push_back(cpu);
    if (!stops_at(i * 0.1)) cpu += 1e8;
  }
  return points;
}

TEST(Pauses, ThatComeRegularlyAreCountedAndTimed) {
  const auto pauses =
      find_pauses(busy_but(10.5, [](double s) { return std::fmod(s + 0.01, 2) > 1.6; }));
  ASSERT_TRUE(pauses);
  EXPECT_EQ(pauses->count, 5u);
  EXPECT_NEAR(pauses->typical_seconds, 0.4, 0.11);
  EXPECT_NEAR(pauses->share, 0.2, 0.05);
  ASSERT_TRUE(pauses->every_seconds);
  EXPECT_NEAR(*pauses->every_seconds, 2, 0.11);
}

TEST(Pauses, ThatComeAtAnyTimeHaveNoPace) {
  const auto pauses = find_pauses(busy_but(20, [](double s) {
    for (const double at : {1.0, 1.6, 7.0, 7.6, 16.0}) {
      if (s > at - 0.01 && s < at + 0.29) return true;
    }
    return false;
  }));
  ASSERT_TRUE(pauses);
  EXPECT_EQ(pauses->count, 5u);
  EXPECT_FALSE(pauses->every_seconds);
}

TEST(Pauses, ASingleLateReadingIsNone) {
  const auto pauses =
      find_pauses(busy_but(10, [](double s) { return std::fmod(s + 0.01, 1) > 0.9; }));
  ASSERT_TRUE(pauses);
  EXPECT_EQ(pauses->count, 0u);
}

TEST(Pauses, AreNotToldOfWhatIsIdleOrShort) {
  EXPECT_FALSE(find_pauses(busy_but(2, [](double) { return false; })));
  EXPECT_FALSE(find_pauses(busy_but(10, [](double s) { return std::fmod(s, 1) > 0.3; })));
  EXPECT_FALSE(find_pauses({}));
}

TEST(Alike, AreValuesThatVaryLittle) {
  const std::vector<double> alike = {10, 11, 9, 10}, unlike = {1, 20, 3, 40}, one = {5};
  EXPECT_TRUE(are_alike(alike));
  EXPECT_FALSE(are_alike(unlike));
  EXPECT_FALSE(are_alike(one));
}

}  // namespace
}  // namespace genscope::analysis
