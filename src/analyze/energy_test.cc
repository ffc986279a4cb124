#include "analyze/energy.h"
#include "testing/units.h"

#include <gtest/gtest.h>

namespace genscope::analysis {
namespace {

using testing::kSecond;

Points constant_power(double watts, int seconds) {
  Points points;
  for (int i = 0; i <= seconds * 10; ++i) {
    points.at_ns.push_back(i * kSecond / 10);
    points.value.push_back(watts);
  }
  return points;
}

TEST(Energy, ThreeHundredWattsForAMinuteAreFiveWattHours) {
  const EnergyCurve curve = EnergyCurve::from_power(constant_power(300, 60));
  const Energy energy = curve.between(0, 60 * kSecond);
  ASSERT_TRUE(energy.joules);
  EXPECT_NEAR(*energy.joules / 3600, 5.0, 1e-9);
  EXPECT_EQ(energy.method, EnergyMethod::integrated);
  EXPECT_NEAR(energy.covered_seconds, 60, 1e-9);
  EXPECT_NEAR(energy.uncovered_seconds, 0, 1e-9);
}

TEST(Energy, OfAStageIsItsPartOfTheCurve) {
  const EnergyCurve curve = EnergyCurve::from_power(constant_power(100, 10));
  EXPECT_NEAR(*curve.between(2 * kSecond, 2 * kSecond + kSecond / 20).joules, 5, 1e-9);
}

TEST(Energy, AGapIsSaidAndNotGuessed) {
  Points points = constant_power(100, 10);
  for (int i = 0; i <= 100; ++i) {
    points.at_ns.push_back(30 * kSecond + i * kSecond / 10);
    points.value.push_back(100);
  }
  const Energy energy = EnergyCurve::from_power(points).between(0, 40 * kSecond);
  EXPECT_NEAR(*energy.joules, 2000, 1e-6);
  EXPECT_NEAR(energy.covered_seconds, 20, 1e-6);
  EXPECT_NEAR(energy.uncovered_seconds, 20, 1e-6);
}

TEST(Energy, OutsideTheReadingsThereIsNone) {
  const EnergyCurve curve = EnergyCurve::from_power(constant_power(100, 10));
  const Energy before = curve.between(-20 * kSecond, -10 * kSecond);
  EXPECT_FALSE(before.joules);
  EXPECT_NEAR(before.uncovered_seconds, 10, 1e-9);
  EXPECT_FALSE(EnergyCurve().between(0, kSecond).joules);
  EXPECT_FALSE(EnergyCurve::from_power({{0}, {100}}).between(0, kSecond).joules);
}

TEST(Energy, ACounterThatResetsLosesOnlyThatInterval) {
  const Points points{{0, kSecond, 2 * kSecond, 3 * kSecond}, {1000, 1100, 30, 130}};
  const EnergyCurve curve = EnergyCurve::from_counter(points);
  const Energy energy = curve.between(0, 3 * kSecond);
  EXPECT_NEAR(*energy.joules, 200, 1e-9);
  EXPECT_EQ(energy.resets, 1u);
  EXPECT_NEAR(energy.uncovered_seconds, 1, 1e-9);
}

TEST(Energy, PrefersTheCounter) {
  Points counter;
  for (int i = 0; i <= 20; ++i) {
    counter.at_ns.push_back(i * kSecond);
    counter.value.push_back(1e6 + 105.0 * i);
  }
  const DeviceEnergy chosen = choose_energy(counter, constant_power(100, 20));
  EXPECT_EQ(chosen.curve.between(0, 20 * kSecond).method, EnergyMethod::counter);
  EXPECT_TRUE(chosen.note.empty()) << chosen.note;
}

TEST(Energy, SaysWhenCounterAndPowerDisagree) {
  Points counter;
  for (int i = 0; i <= 20; ++i) {
    counter.at_ns.push_back(i * kSecond);
    counter.value.push_back(170.0 * i);
  }
  const DeviceEnergy chosen = choose_energy(counter, constant_power(100, 20));
  EXPECT_EQ(chosen.note, "its counter says 170.0 W on average, its power readings 100.0 W");
}

TEST(Energy, DoesNotTrustACounterThatStandsStill) {
  Points counter;
  for (int i = 0; i <= 20; ++i) {
    counter.at_ns.push_back(i * kSecond);
    counter.value.push_back(5000);
  }
  const DeviceEnergy chosen = choose_energy(counter, constant_power(100, 20));
  EXPECT_EQ(chosen.curve.between(0, 20 * kSecond).method, EnergyMethod::integrated);
  EXPECT_FALSE(chosen.note.empty());
  // Without power to contradict it, nothing used is nothing used.
  EXPECT_EQ(*choose_energy(counter, {}).curve.between(0, 20 * kSecond).joules, 0);
}

}  // namespace
}  // namespace genscope::analysis
