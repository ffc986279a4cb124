#include <gtest/gtest.h>

#include "probe/drm/test_rig.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"
#include "trace/metrics.h"

namespace genscope::probe::drm {
namespace {

struct AmdProbe : ::testing::Test {
  TestRig make(const char* id) { return TestRig(make_amdgpu_probe, options, files, id); }

  testing::TempDir dir;
  TestTree tree{dir.path()};
  ProbeOptions options = tree.options();
  testing::FaultPlan files;
};

TEST_F(AmdProbe, ReadsADiscreteCard) {
  tree.write_amd_discrete();
  TestRig rig = make("0000:03:00.0");
  ASSERT_EQ(rig.state.kind, ProbeState::Kind::works);
  ASSERT_EQ(rig.board.entities.size(), 1u);
  EXPECT_EQ(rig.board.entities[0].kind, EntityKind::gpu);
  EXPECT_EQ(rig.board.entities[0].name, "AMD Radeon RX 7900 XT/XTX");
  rig.tick();
  EXPECT_EQ(rig.value("memory_total_bytes"), 25753026560.0);
  EXPECT_EQ(rig.value("memory_used_bytes"), 8589934592.0);
  EXPECT_EQ(rig.value("memory_shared_total_bytes"), 33554432000.0);
  EXPECT_EQ(rig.value("memory_shared_used_bytes"), 62369792);
  EXPECT_NEAR(rig.value("busy_ratio"), 0.87, 1e-12);
  EXPECT_NEAR(rig.value("memory_busy_ratio"), 0.35, 1e-12);
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  EXPECT_NEAR(rig.value("power_limit_watts"), 290, 1e-9);
  EXPECT_NEAR(rig.value("temperature_celsius"), 53, 1e-9);
  EXPECT_NEAR(rig.value("temperature_hotspot_celsius"), 61.5, 1e-9);
  EXPECT_NEAR(rig.value("temperature_memory_celsius"), 68, 1e-9);
  EXPECT_NEAR(rig.value("temperature_limit_celsius"), 100, 1e-9);
  EXPECT_NEAR(rig.value("clock_core_mhz"), 1850, 1e-9);
  EXPECT_NEAR(rig.value("clock_memory_mhz"), 1250, 1e-9);
  EXPECT_EQ(rig.value("clock_core_max_mhz"), 2500);
  EXPECT_EQ(rig.value("fan_ratio"), 0.5);
  EXPECT_EQ(rig.value("pcie_generation"), 4);
  EXPECT_EQ(rig.value("pcie_lanes"), 16);
  EXPECT_EQ(rig.value("throttle_reasons"),
            trace::kThrottlePowerCap | trace::kThrottleThermalSoftware);
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::not_supported);
  EXPECT_EQ(files.touches("pcie_bw"), 0) << "the kernel sleeps a second in it";
}

TEST_F(AmdProbe, SaysWhatItIs) {
  tree.write_amd_discrete();
  const TestRig rig = make("0000:03:00.0");
  const auto& facts = rig.board.entities[0].facts;
  const auto has = [&](const char* key, const char* value) {
    return std::find(facts.begin(), facts.end(), std::pair<std::string, std::string>(key, value)) !=
           facts.end();
  };
  EXPECT_TRUE(has("vendor", "amd") && has("driver", "amdgpu") && has("pci", "0000:03:00.0") &&
              has("memory", "dedicated") && has("pci_id", "1002:744c"));
}

TEST_F(AmdProbe, ReadsBothPoolsOfAnApu) {
  tree.write_amd_apu();
  TestRig rig = make("0000:64:00.0");
  rig.tick();
  EXPECT_EQ(rig.board.entities[0].name, "AMD GPU 1002:fff0");
  EXPECT_EQ(rig.board.entities[0].facts[4].second, "unified");
  EXPECT_EQ(rig.value("memory_total_bytes"), 536870912);
  EXPECT_EQ(rig.value("memory_used_bytes"), 268435456);
  EXPECT_EQ(rig.value("memory_shared_total_bytes"), 31433977856.0);
  EXPECT_EQ(rig.value("memory_shared_used_bytes"), 12884901888.0);
  EXPECT_NEAR(rig.value("busy_ratio"), 0.12, 1e-12) << "not the blob's 79 of no certain unit";
  EXPECT_NEAR(rig.value("power_watts"), 3.103, 1e-9);
  EXPECT_NEAR(rig.value("power_instant_watts"), 3.142, 1e-9);
  EXPECT_NEAR(rig.value("temperature_celsius"), 25, 1e-9);
  EXPECT_NEAR(rig.value("clock_core_mhz"), 800, 1e-9);
  EXPECT_EQ(rig.value("clock_memory_mhz"), 400) << "the starred row: there is no freq2";
  EXPECT_EQ(rig.value("throttle_reasons"), trace::kThrottleThermalHardware);
  EXPECT_EQ(rig.status("temperature_hotspot_celsius"), SampleStatus::absent);
  EXPECT_EQ(rig.reason("temperature_hotspot_celsius"), "no series");
}

TEST_F(AmdProbe, FallsBackToTheBlob) {
  tree.write_amd_discrete();
  tree.remove(tree.device("hwmon"));
  tree.remove(tree.device("gpu_busy_percent"));
  tree.remove(tree.device("mem_busy_percent"));
  tree.remove(tree.device("pp_dpm_sclk"));
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  EXPECT_NEAR(rig.value("busy_ratio"), 0.44, 1e-12);
  EXPECT_NEAR(rig.value("memory_busy_ratio"), 0.22, 1e-12);
  EXPECT_EQ(rig.value("power_watts"), 150);
  EXPECT_EQ(rig.value("temperature_celsius"), 61);
  EXPECT_EQ(rig.value("temperature_hotspot_celsius"), 72);
  EXPECT_EQ(rig.value("clock_core_mhz"), 2100);
  EXPECT_EQ(rig.value("clock_memory_mhz"), 1249) << "pp_dpm_mclk is still there";
  EXPECT_EQ(rig.source("power_watts"), "gpu_metrics");
}

TEST_F(AmdProbe, FallsBackWhenTheBusyFileIsRefused) {
  tree.write_amd_discrete();
  testing::FaultPlan::Fault refusal;
  refusal.error = EOPNOTSUPP;
  files.add("gpu_busy_percent", refusal);
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  EXPECT_NEAR(rig.value("busy_ratio"), 0.44, 1e-12);
}

TEST_F(AmdProbe, SaysWhyAValueIsMissing) {
  tree.write_identity("amdgpu", "1002:744C", "0000:03:00.0");
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  for (const char* metric :
       {"memory_total_bytes", "memory_used_bytes", "busy_ratio", "power_watts", "energy_joules",
        "temperature_celsius", "clock_core_mhz", "throttle_reasons"}) {
    EXPECT_EQ(rig.status(metric), SampleStatus::absent) << metric;
    EXPECT_NE(rig.reason(metric), "no series") << metric;
    EXPECT_NE(rig.reason(metric), "") << metric;
  }
}

TEST_F(AmdProbe, AnUnknownBlobLeavesHwmon) {
  tree.write_amd_discrete();
  tree.write(tree.device("gpu_metrics"), make_blob(1, 9, 400, {}));
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  EXPECT_EQ(rig.status("throttle_reasons"), SampleStatus::not_supported);
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::not_supported);
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
}

TEST_F(AmdProbe, ABrokenBlobIsAnErrorNotAValue) {
  tree.write_amd_discrete();
  tree.write(tree.device("gpu_metrics"), TestTree::blob_13().substr(0, 50));
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  EXPECT_EQ(rig.status("throttle_reasons"), SampleStatus::error);
  EXPECT_NEAR(rig.value("temperature_celsius"), 53, 1e-9);
}

std::string blob_14(std::uint64_t energy) {
  return make_blob(1, 4, 288, {{10, 2, 500}, {24, 8, energy}, {40, 4, 0}, {104, 8, 1000}});
}

TEST_F(AmdProbe, ReadsTheEnergyCounterFrom14On) {
  tree.write_amd_discrete();
  tree.write(tree.device("gpu_metrics"), blob_14(2'000'000));
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  EXPECT_NEAR(rig.value("energy_joules"), 30.518, 1e-9);
  EXPECT_EQ(rig.value("link_receive_bytes"), 1024000);
  for (int i = 0; i < 3; ++i) rig.tick();
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::stale) << "3 s at 241 W";
  tree.write(tree.device("gpu_metrics"), blob_14(3'000'000));
  rig.tick();
  EXPECT_NEAR(rig.value("energy_joules"), 45.777, 1e-9);
}

TEST_F(AmdProbe, DoesNotReadTheBlobFastWhenItHasNoCounter) {
  tree.write_amd_discrete();
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  const int before = files.touches("gpu_metrics");
  for (int i = 0; i < 9; ++i) rig.tick(Tier::fast);
  EXPECT_EQ(files.touches("gpu_metrics"), before);
}

TEST_F(AmdProbe, ReadsOnlyWhatIsSwitchedOn) {
  tree.write_amd_discrete();
  options.gpu_memory = options.gpu_utilization = options.gpu_temperature = options.gpu_power =
      options.gpu_processes = false;
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  for (const char* file :
       {"mem_info_vram_used", "mem_info_gtt_used", "gpu_busy_percent", "mem_busy_percent",
        "temp1_input", "power1_average", "power1_cap", "fan1_input", "children"}) {
    EXPECT_EQ(files.touches(file), 0) << file;
  }
  EXPECT_EQ(rig.reason("busy_ratio"), "no series");
  EXPECT_NEAR(rig.value("clock_core_mhz"), 1850, 1e-9);
}

TEST_F(AmdProbe, GarbageIsImplausible) {
  tree.write_amd_discrete();
  tree.write(tree.device("gpu_busy_percent"), "4294967295\n");
  tree.write(tree.hwmon("temp1_input"), "200000\n");
  tree.write(tree.hwmon("temp3_input"), "0\n");
  tree.write(tree.hwmon("power1_average"), "lots\n");
  TestRig rig = make("0000:03:00.0");
  rig.tick();
  tree.write(tree.device("mem_info_vram_used"), "25753026561\n");
  rig.tick();
  EXPECT_EQ(rig.status("busy_ratio"), SampleStatus::implausible);
  EXPECT_EQ(rig.status("temperature_celsius"), SampleStatus::implausible);
  EXPECT_EQ(rig.status("temperature_memory_celsius"), SampleStatus::not_supported);
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::error);
  EXPECT_EQ(rig.status("memory_used_bytes"), SampleStatus::implausible) << "more than there is";
}

TEST_F(AmdProbe, IgnoresConnectorsAndOtherVendors) {
  tree.write_i915();
  tree.write("sys/class/drm/card0-DP-1/status", "connected\n");
  const TestRig rig = make("");
  EXPECT_EQ(rig.state.kind, ProbeState::Kind::absent);
  EXPECT_NE(rig.state.reason, "");
  EXPECT_TRUE(rig.board.entities.empty());
}

TEST_F(AmdProbe, NoDrmAtAllIsAbsent) {
  options.sys_root = dir / "nothing";
  EXPECT_EQ(make("").state.kind, ProbeState::Kind::absent);
}

}  // namespace
}  // namespace genscope::probe::drm
