#include "bench/history/frontier.h"

#include <gtest/gtest.h>

namespace genscope::bench {
namespace {

// Fits up to `most`; memory grows with the value.
std::function<FrontierTry(std::int64_t)> fits_up_to(std::int64_t most) {
  return [most](std::int64_t value) {
    FrontierTry one;
    one.value = value;
    if (value > most) {
      one.failure = Failure{FailureClass::oom_gpu, "out of memory"};
    } else {
      one.peak = 100.0 * static_cast<double>(value);
    }
    return one;
  };
}

TEST(Frontier, FindsTheLargestThatFits) {
  for (std::int64_t most = 1; most < 64; ++most) {
    const Frontier found = find_frontier({1, 64, 1}, fits_up_to(most));
    EXPECT_EQ(found.largest, most);
    EXPECT_EQ(found.smallest_not, most + 1);
    EXPECT_EQ(found.peak, 100.0 * static_cast<double>(most));
    EXPECT_TRUE(found.violations.empty());
    EXPECT_LE(found.tries.size(), 16u);
  }
}

TEST(Frontier, AllFitsAndNothingFits) {
  const Frontier all = find_frontier({1, 64, 1}, fits_up_to(100));
  EXPECT_EQ(all.largest, 64);
  EXPECT_FALSE(all.smallest_not.has_value());
  const Frontier none = find_frontier({1, 64, 1}, fits_up_to(0));
  EXPECT_FALSE(none.largest.has_value());
  EXPECT_EQ(none.smallest_not, 1);
  EXPECT_EQ(none.tries.size(), 1u);
}

TEST(Frontier, KeepsToItsSteps) {
  const Frontier found = find_frontier({256, 2048, 64}, fits_up_to(1000));
  EXPECT_EQ(found.largest, 960);
  EXPECT_EQ(found.smallest_not, 1024);
}

TEST(Frontier, TellsWhatIsNotMonotonic) {
  const auto odd = [](std::int64_t value) {
    FrontierTry one = fits_up_to(100)(value);
    if (value == 8) one.failure = Failure{FailureClass::oom_gpu, ""};
    if (value == 4) one.peak = 10;
    return one;
  };
  const Frontier found = find_frontier({1, 64, 1}, odd);
  ASSERT_EQ(found.violations.size(), 2u);
  EXPECT_NE(found.violations[0].find("fits, though the smaller 8"), std::string::npos);
  EXPECT_NE(found.violations[1].find("falls"), std::string::npos);
}

TEST(Frontier, WhatFailsAtRandomIsNotSharp) {
  int tries_of_four = 0;
  const Frontier found = find_frontier({1, 5, 1}, [&](std::int64_t value) {
    FrontierTry one = fits_up_to(4)(value);
    if (value == 4 && ++tries_of_four > 1) one.failure = Failure{FailureClass::oom_gpu, ""};
    return one;
  });
  ASSERT_EQ(found.violations.size(), 1u);
  EXPECT_NE(found.violations[0].find("4 fitted once and failed once"), std::string::npos);
}

TEST(Frontier, ReadsRanges) {
  EXPECT_EQ(parse_range("1..64")->high, 64);
  EXPECT_EQ(parse_range("256..4096:64")->step, 64);
  for (const char* const bad :
       {"", "5", "1..", "..3", "9..1", "-1..3", "1..4:0", "a..b", "1...3"}) {
    EXPECT_FALSE(parse_range(bad).ok()) << bad;
  }
}

TEST(Frontier, LimitsAreOfTheMachine) {
  Environment machine;
  machine.fingerprint = {{"gpus.0.vram_bytes", "16000"}, {"ram_bytes", "64000"}};
  EXPECT_EQ(memory_limit("vram_peak_bytes", machine, "/none"), 16000);
  EXPECT_EQ(memory_limit("rss_peak_bytes", machine, "/none"), 64000);
  EXPECT_FALSE(memory_limit("latency_s", machine, "/none").has_value());
  EXPECT_FALSE(memory_limit("vram_peak_bytes", {}, "/none").has_value());
}

}  // namespace
}  // namespace genscope::bench
