#include "analyze/resources/cpu_rates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace genscope::analysis {
namespace {

double used(const CpuRates& rates) {
  double sum = 0;
  for (std::size_t i = 0; i < rates.length_ns.size(); ++i) {
    sum += rates.middle.value[i] * static_cast<double>(rates.length_ns[i]);
  }
  return sum;
}

double most(const CpuRates& rates) {
  const std::vector<double>& value = rates.middle.value;
  return value.empty() ? 0 : *std::max_element(value.begin(), value.end());
}

constexpr std::int64_t kMs = 1'000'000;

TEST(CpuRates, TimeThatComesLateWasUsedBefore) {
  // One core in children that are added once a second, 0.1 ms after a reading.
  Points counter;
  for (int i = 0; i <= 30; ++i) {
    const double told = (i - i % 10) * 100.0 * kMs;
    counter.at_ns.push_back(i * 100 * kMs);
    counter.value.push_back(i % 10 == 0 && i > 0 ? told - 1000.0 * kMs : told);
    if (i % 10 != 0 || i == 0) continue;
    counter.at_ns.push_back(i * 100 * kMs + kMs / 10);
    counter.value.push_back(told);
  }
  const CpuRates rates = cpu_rates(counter, 2);
  EXPECT_LE(most(rates), 2);
  EXPECT_NEAR(used(rates), 3000.0 * kMs, 1);
  const CpuRates sum = sum_of({rates, rates}, 2);
  EXPECT_LE(most(sum), 2);
}

// A machine of some CPUs that runs short children one after another, or several at once, under a
// parent that reaps them: whatever they do and whenever they are read, the rates stay possible and
// nothing is lost.
TEST(CpuRates, AreNeverAboveTheMachineAndLoseNothing) {
  std::mt19937 random(7);
  const auto up_to = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n));
  };
  for (int round = 0; round < 300; ++round) {
    const double cpus = static_cast<double>(1 + up_to(8));
    Points counter;
    double told = 0, hidden = 0;  // of children that live or were not read since they ended
    std::int64_t at = 0;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t passed = up_to(20) == 0 ? kMs / 10 : (50 + up_to(100)) * kMs;
      at += passed;
      hidden += static_cast<double>(passed) * cpus * static_cast<double>(up_to(101)) / 100;
      if (up_to(8) == 0) {
        told += hidden;
        hidden = 0;
      }
      counter.at_ns.push_back(at);
      counter.value.push_back(told);
    }
    // The first reading has what was used before it.
    const CpuRates rates = cpu_rates(counter, cpus);
    EXPECT_LE(most(rates), cpus) << round;
    const double grown = counter.value.back() - counter.value.front();
    // What was told at the first reading that grew may have been used before the series began.
    EXPECT_LE(used(rates), grown + 1) << round;
    EXPECT_GE(used(rates), grown - 2e9 * cpus) << round;
    for (std::size_t i = 1; i < rates.middle.at_ns.size(); ++i) {
      EXPECT_GT(rates.middle.at_ns[i], rates.middle.at_ns[i - 1]);
    }
  }
}

TEST(CpuRates, WithoutTheNumberOfCpusAreWhatTheCounterSays) {
  EXPECT_EQ(most(cpu_rates({{0, 100, 200, 300}, {0, 50, 850, 900}}, std::nullopt)), 8);
}

TEST(CpuRates, SkipResetsAndGaps) {
  const CpuRates rates = cpu_rates(
      {{0, 100, 200, 300, 400, 5000, 5100}, {0, 50, 150, 20, 120, 900, 1000}}, std::nullopt);
  EXPECT_EQ(rates.middle.value, (std::vector<double>{0.5, 1, 1, 1}));
  EXPECT_EQ(rates.middle.at_ns.front(), 50);
}

TEST(CpuRates, OfTwoTreesAddUpWhereverTheyWereRead) {
  const CpuRates one = cpu_rates({{0, 100, 200}, {0, 100, 200}}, 8);
  const CpuRates two = cpu_rates({{50, 150, 250}, {0, 200, 400}}, 8);
  const CpuRates sum = sum_of({one, two}, 8);
  EXPECT_NEAR(used(sum), 600, 1e-9);
  EXPECT_EQ(most(sum), 3);
}

}  // namespace
}  // namespace genscope::analysis
