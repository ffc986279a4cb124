#include "probe/governor.h"
#include "testing/units.h"

#include <gtest/gtest.h>

namespace genscope::probe {
namespace {

using testing::kMs;

void report_many(Governor& governor, std::size_t job, std::int64_t cpu_ns) {
  for (int i = 0; i < 20; ++i) governor.report(job, cpu_ns);
}

TEST(Governor, LeavesWhatFitsAlone) {
  Governor governor(0.001);
  const std::size_t job = governor.add(100 * kMs);
  report_many(governor, job, 50'000);  // 0.05 % of a core
  EXPECT_FALSE(governor.decide().changed);
  EXPECT_NEAR(governor.total(), 0.0005, 1e-9);
}

TEST(Governor, SlowsTheDearestUntilAllFit) {
  Governor governor(0.001);
  const std::size_t cheap = governor.add(100 * kMs);
  const std::size_t dear = governor.add(1000 * kMs);
  report_many(governor, cheap, 20'000);    // 0.02 %
  report_many(governor, dear, 5'000'000);  // 0.5 %
  int changes = 0;
  while (governor.decide().changed && changes < 100) changes++;
  EXPECT_EQ(governor.factor(cheap), 1u);
  EXPECT_EQ(governor.factor(dear), 8u);
  EXPECT_EQ(governor.period_ns(dear), 8000 * kMs);
  EXPECT_LE(governor.total(), 0.001);
}

TEST(Governor, GivesBackWhenItBecomesCheapAgain) {
  Governor governor(0.001);
  const std::size_t job = governor.add(100 * kMs);
  report_many(governor, job, 1'000'000);
  while (governor.decide().changed) {
  }
  EXPECT_GT(governor.factor(job), 1u);
  report_many(governor, job, 10'000);
  for (int i = 0; i < 10; ++i) governor.decide();
  EXPECT_EQ(governor.factor(job), 1u);
}

TEST(Governor, DoesNotSwingBetweenTwoRates) {
  Governor governor(0.001);
  const std::size_t job = governor.add(100 * kMs);
  report_many(governor, job, 110'000);  // 0.11 %: a little too dear
  EXPECT_TRUE(governor.decide().slower);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(governor.decide().changed);
}

TEST(Governor, WaitsForAFewReadings) {
  Governor governor(0.001);
  const std::size_t job = governor.add(100 * kMs);
  for (int i = 0; i < 4; ++i) governor.report(job, 50'000'000);
  EXPECT_FALSE(governor.decide().changed);
  governor.report(job, 50'000'000);
  EXPECT_TRUE(governor.decide().slower);
}

TEST(Governor, IgnoresASingleSpike) {
  Governor governor(0.001);
  const std::size_t job = governor.add(100 * kMs);
  report_many(governor, job, 10'000);
  governor.report(job, 50'000'000);
  EXPECT_FALSE(governor.decide().changed);
}

TEST(Governor, CountsTheWakeUps) {
  Governor governor(0.001);
  const std::size_t job = governor.add(100 * kMs);
  report_many(governor, job, 1'000);
  for (int i = 0; i < 100; ++i) governor.report_wake(150'000);  // 0.15 % by waking alone
  EXPECT_TRUE(governor.decide().slower);
  EXPECT_FALSE(governor.decide().changed);
}

TEST(Governor, StopsAtTheLargestFactor) {
  Governor governor(1e-9);
  const std::size_t job = governor.add(kMs);
  report_many(governor, job, kMs);
  for (int i = 0; i < 100; ++i) governor.decide();
  EXPECT_EQ(governor.factor(job), Governor::kMaxFactor);
}

}  // namespace
}  // namespace genscope::probe
