#include "watch/figures.h"

#include <gtest/gtest.h>

#include <limits>

#include "watch/trail.h"

namespace genscope::watch {
namespace {

TEST(Figures, UnknownIsNeverZero) {
  EXPECT_EQ(bytes_text(std::nullopt), "n/a");
  EXPECT_EQ(percent_text(std::nullopt), "n/a");
  EXPECT_EQ(watts_text(std::nullopt), "n/a");
  EXPECT_EQ(bytes_of_text(std::nullopt, 1024.0 * 1024 * 2), "n/a/2.00 MiB");
  EXPECT_FALSE(known({.value = 5, .status = SampleStatus::stale}));
  EXPECT_FALSE(known({.value = 5, .status = SampleStatus::lost}));
  EXPECT_FALSE(
      known({.value = std::numeric_limits<double>::quiet_NaN(), .status = SampleStatus::ok}));
  EXPECT_EQ(known({.value = 0, .status = SampleStatus::ok}), 0.0);
}

TEST(Figures, BytesHaveThreeDigits) {
  EXPECT_EQ(bytes_text(0.0), "0 B");
  EXPECT_EQ(bytes_text(999.0), "999 B");
  EXPECT_EQ(bytes_text(1023.0), "1023 B");
  EXPECT_EQ(bytes_text(1536.0), "1.50 KiB");
  EXPECT_EQ(bytes_text(12.3 * (1 << 30)), "12.3 GiB");
  EXPECT_EQ(bytes_of_text(1.5 * (1 << 30), 80.0 * (1 << 30)), "1.50/80.0 GiB");
}

TEST(Figures, RatiosAndTimes) {
  EXPECT_EQ(percent_text(0.0), "0%");
  EXPECT_EQ(percent_text(0.045), "4.5%");
  EXPECT_EQ(percent_text(0.45), "45%");
  EXPECT_EQ(seconds_text(0.00012), "120 us");
  EXPECT_EQ(seconds_text(0.85), "850 ms");
  EXPECT_EQ(seconds_text(1.234), "1.23 s");
  EXPECT_EQ(seconds_text(3723), "1:02:03");
  EXPECT_EQ(clock_time(7), "0:07");
  EXPECT_EQ(clock_time(-1), "0:00");
  EXPECT_EQ(clock_time(1e300), "277777:46:40");
}

TEST(Trail, DrawsTheNewestAtTheRightAndGapsAsBlanks) {
  Trail trail;
  EXPECT_EQ(trail.draw(3, 1, true), "   ");
  trail.push(0.0);
  trail.push(std::nullopt);
  trail.push(1.0);
  EXPECT_EQ(trail.draw(4, 1, true), " ▁ █");
  EXPECT_EQ(trail.draw(4, 1, false), " _ #");
  EXPECT_EQ(trail.draw(1, 1, true), "█");
}

TEST(Trail, ForgetsTheOldestAndScalesToTheLargest) {
  Trail trail;
  for (int i = 0; i < 1000; ++i) trail.push(i);
  EXPECT_EQ(trail.size(), Trail::kCapacity);
  EXPECT_EQ(trail.draw(2, 0, false), "##");
  EXPECT_EQ(trail.draw(2, 1998, false), "-=");
}

}  // namespace
}  // namespace genscope::watch
