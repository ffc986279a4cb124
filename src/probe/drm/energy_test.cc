#include "probe/drm/energy.h"

#include <gtest/gtest.h>

#include "probe/test_board.h"
#include "testing/units.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

using testing::kSecond;

struct Rig {
  Rig() {
    const std::uint32_t gpu = board.add_entity({EntityKind::gpu, "gpu", "", {}});
    const std::uint32_t energy =
        board.add_series(gpu, trace::metric("energy_joules"), Tier::fast, "");
    const std::uint32_t power = board.add_series(gpu, trace::metric("power_watts"), Tier::fast, "");
    meter = EnergyMeter(energy, power);
  }
  Reading energy() const { return board.get("gpu", "energy_joules"); }
  Reading power() const { return board.get("gpu", "power_watts"); }
  TestBoard board;
  EnergyMeter meter;
};

TEST(EnergyMeter, DerivesPowerFromTwoReadings) {
  Rig rig;
  rig.meter.note(100, -1, kSecond, rig.board);
  EXPECT_EQ(rig.energy().value, 100);
  EXPECT_EQ(rig.power().status, SampleStatus::pending);
  rig.meter.note(130, -1, kSecond + kSecond / 10, rig.board);
  EXPECT_EQ(rig.energy().value, 130);
  EXPECT_NEAR(rig.power().value, 300, 1e-9);
}

TEST(EnergyMeter, StartsAgainWhenTheCounterFalls) {
  Rig rig;
  rig.meter.note(100, -1, kSecond, rig.board);
  rig.meter.note(5, -1, 2 * kSecond, rig.board);
  EXPECT_EQ(rig.energy().value, 5);
  EXPECT_EQ(rig.power().status, SampleStatus::pending);
  rig.meter.note(15, -1, 3 * kSecond, rig.board);
  EXPECT_NEAR(rig.power().value, 10, 1e-9);
}

TEST(EnergyMeter, ACounterThatStandsStillUnderLoadIsStuck) {
  Rig rig;
  rig.meter.note(100, 250, 0, rig.board);
  rig.meter.note(100, 250, 2 * kSecond, rig.board);
  EXPECT_EQ(rig.energy().status, SampleStatus::ok);
  rig.meter.note(100, 250, 3 * kSecond, rig.board);
  EXPECT_EQ(rig.energy().status, SampleStatus::stale);
  EXPECT_TRUE(std::string_view(rig.energy().reason).starts_with("stuck"));
  rig.meter.note(900, 250, 4 * kSecond, rig.board);
  EXPECT_EQ(rig.energy().status, SampleStatus::ok);
}

TEST(EnergyMeter, ACounterMayStandStillWhenIdle) {
  Rig rig;
  for (int i = 0; i < 10; ++i) rig.meter.note(100, 4.9, i * kSecond, rig.board);
  EXPECT_EQ(rig.energy().status, SampleStatus::ok);
}

TEST(EnergyMeter, MakesNoDifferenceAcrossASleep) {
  Rig rig;
  rig.meter.note(100, -1, 0, rig.board);
  rig.meter.forget();
  rig.meter.note(200, -1, 100 * kSecond, rig.board);
  EXPECT_EQ(rig.power().status, SampleStatus::pending);
  EXPECT_EQ(rig.energy().value, 200);
}

}  // namespace
}  // namespace genscope::probe::drm
