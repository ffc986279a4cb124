#include <gtest/gtest.h>

#include "probe/drm/test_rig.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

struct IntelProbe : ::testing::Test {
  TestRig make(const char* id) { return TestRig(make_intel_probe, options, files, id); }

  testing::TempDir dir;
  TestTree tree{dir.path()};
  ProbeOptions options = tree.options();
  testing::FaultPlan files;
};

TEST_F(IntelProbe, ReadsI915) {
  tree.write_i915();
  TestRig rig = make("0000:0b:00.0");
  ASSERT_EQ(rig.state.kind, ProbeState::Kind::works);
  EXPECT_EQ(rig.board.entities[0].name, "Intel Arc A380");
  EXPECT_EQ(rig.board.entities[0].facts[1].second, "i915");
  rig.tick();
  EXPECT_NEAR(rig.value("energy_joules"), 25637.161804, 1e-6);
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::pending);
  EXPECT_NEAR(rig.value("power_limit_watts"), 55, 1e-9);
  EXPECT_NEAR(rig.value("temperature_celsius"), 55, 1e-9);
  EXPECT_EQ(rig.value("clock_core_mhz"), 1950);
  EXPECT_EQ(rig.value("clock_core_max_mhz"), 2450);
  EXPECT_EQ(rig.value("throttle_reasons"), 0);
  EXPECT_EQ(files.touches("throttle_reason_pl1"), 0) << "the status says that there is none";
  EXPECT_EQ(rig.status("memory_used_bytes"), SampleStatus::not_supported);
  EXPECT_NE(rig.reason("memory_used_bytes"), "");
  EXPECT_EQ(rig.status("pcie_generation"), SampleStatus::not_supported)
      << "an Arc's own function always says x1";

  tree.write(tree.hwmon("energy1_input"), "25667161804\n");
  rig.tick(0.5);
  EXPECT_NEAR(rig.value("power_watts"), 60, 1e-6);
  EXPECT_EQ(rig.source("power_watts"), "difference of energy1_input");
}

TEST_F(IntelProbe, ReadsXe) {
  tree.write_xe();
  TestRig rig = make("0000:09:00.0");
  rig.tick();
  EXPECT_EQ(rig.board.entities[0].name, "Intel Arc B580");
  EXPECT_EQ(rig.source("energy_joules"), "energy2_input (pkg)") << "the card's stands at 0";
  EXPECT_NEAR(rig.value("energy_joules"), 19000, 1e-6);
  EXPECT_EQ(rig.status("power_limit_watts"), SampleStatus::absent);
  EXPECT_EQ(rig.reason("power_limit_watts"), "the limit is disabled");
  EXPECT_NEAR(rig.value("temperature_celsius"), 54, 1e-9);
  EXPECT_NEAR(rig.value("temperature_memory_celsius"), 56, 1e-9);
  EXPECT_NEAR(rig.value("temperature_limit_celsius"), 100, 1e-9);
  EXPECT_EQ(rig.value("clock_core_mhz"), 2400);
  EXPECT_EQ(rig.value("clock_core_max_mhz"), 2850);
  EXPECT_EQ(rig.value("clock_media_mhz"), 1200);
  EXPECT_EQ(rig.source("clock_media_mhz"), "tile0/gt1/freq0/act_freq");
  EXPECT_EQ(rig.value("throttle_reasons"),
            trace::kThrottlePowerCap | trace::kThrottleThermalHardware);
  tree.write(tree.hwmon("energy2_input"), "19012000000\n");
  rig.tick(0.1);
  EXPECT_NEAR(rig.value("power_watts"), 120, 1e-6);
}

TEST_F(IntelProbe, TakesTheCardsCounterWhereItLives) {
  tree.write_xe();
  tree.write(tree.hwmon("energy1_input"), "11000000000\n");
  TestRig rig = make("0000:09:00.0");
  rig.tick();
  EXPECT_EQ(rig.source("energy_joules"), "energy1_input (card)");
  EXPECT_NEAR(rig.value("energy_joules"), 11000, 1e-6);
}

TEST_F(IntelProbe, ACounterAtZeroIsNoEnergy) {
  tree.write_xe();
  tree.write(tree.hwmon("energy2_input"), "0\n");
  TestRig rig = make("0000:09:00.0");
  rig.tick();
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::not_supported);
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::not_supported);
  tree.write(tree.hwmon("energy2_input"), "7000000\n");
  rig.tick();
  EXPECT_NEAR(rig.value("energy_joules"), 7, 1e-9) << "it began to count";
}

TEST_F(IntelProbe, AThrottleStatusWithoutAReasonIsOther) {
  tree.write_i915();
  tree.write(tree.card("gt/gt0/throttle_reason_status"), "1\n");
  TestRig rig = make("0000:0b:00.0");
  rig.tick();
  EXPECT_EQ(rig.value("throttle_reasons"), trace::kThrottleOther);
  tree.write(tree.card("gt/gt0/throttle_reason_vr_tdc"), "1\n");
  rig.tick();
  EXPECT_EQ(rig.value("throttle_reasons"), trace::kThrottleCurrent);
}

TEST_F(IntelProbe, ReadsTheLinkOfTheSwitch) {
  tree.write_i915();
  // sys/devices/slot/switch/gpu, as the kernel lays it out.
  const std::string slot = "sys/devices/pci0000:00/0000:08:00.0/";
  std::filesystem::create_directories(tree.path(slot + "0000:09:01.0"));
  std::filesystem::rename(tree.path(tree.card("device")),
                          tree.path(slot + "0000:09:01.0/0000:0b:00.0"));
  tree.link(tree.card("device"), tree.path(slot + "0000:09:01.0/0000:0b:00.0"));
  tree.write(slot + "vendor", "0x8086\n");
  tree.write(slot + "class", "0x060400\n");
  tree.write(slot + "current_link_speed", "16.0 GT/s PCIe\n");
  tree.write(slot + "current_link_width", "8\n");
  TestRig rig = make("0000:0b:00.0");
  rig.tick();
  EXPECT_EQ(rig.value("pcie_generation"), 4);
  EXPECT_EQ(rig.value("pcie_lanes"), 8);
}

TEST_F(IntelProbe, AnIntegratedGpuSharesMemoryAndHasNoPowerFiles) {
  tree.write_identity("i915", "8086:9A49", "0000:00:02.0");
  tree.write(tree.card("gt_act_freq_mhz"), "350\n");
  TestRig rig = make("0000:00:02.0");
  rig.tick();
  EXPECT_EQ(rig.board.entities[0].facts[4].second, "unified");
  EXPECT_EQ(rig.status("memory_used_bytes"), SampleStatus::not_supported);
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::absent);
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::absent);
  EXPECT_EQ(rig.status("temperature_celsius"), SampleStatus::absent);
  EXPECT_EQ(rig.status("throttle_reasons"), SampleStatus::not_supported);
  EXPECT_EQ(rig.value("clock_core_mhz"), 350);
}

TEST_F(IntelProbe, ReadsOnlyWhatIsSwitchedOn) {
  tree.write_xe();
  tree.write_process(100, 1, "idle");
  options.gpu_utilization = options.gpu_temperature = options.gpu_power = options.gpu_processes =
      false;
  TestRig rig = make("0000:09:00.0");
  rig.tick();
  for (const char* file :
       {"energy1_input", "energy2_input", "power1_max", "temp2_input", "temp3_input", "children"}) {
    EXPECT_EQ(files.touches(file), 0) << file;
  }
}

TEST_F(IntelProbe, LeavesOtherDriversAlone) {
  tree.write_identity("vfio-pci", "8086:56A0", "0000:0b:00.0");
  const TestRig rig = make("");
  EXPECT_EQ(rig.state.kind, ProbeState::Kind::absent);
}

}  // namespace
}  // namespace genscope::probe::drm
