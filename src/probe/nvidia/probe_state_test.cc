// Whether the source is there at all, which versions of its calls there are, and sleeping GPUs.
#include <gtest/gtest.h>

#include "probe/builtin.h"
#include "probe/nvidia/test_rig.h"

namespace genscope::probe::nvml {
namespace {

using StateKind = ProbeState::Kind;

TEST(NvmlState, NoLibraryIsAbsent) {
  ProbeOptions options;
  options.nvml_library = "/nowhere/libnvidia-ml.so.1";
  TestBoard board;
  const auto probe = make_nvml_probe(options, base::Files::system());
  const ProbeState state = probe->open(board);
  EXPECT_EQ(state.kind, StateKind::absent);
  EXPECT_NE(state.reason.find("/nowhere/libnvidia-ml.so.1"), std::string::npos) << state.reason;
  EXPECT_FALSE(state.remedy.empty());
  for (int i = 1; i < 100; ++i) probe->sample(Tier::normal, i * kSecond, board);
  EXPECT_FALSE(probe->wants_rescan());
  EXPECT_TRUE(board.entities.empty());
}

TEST(NvmlState, AFileThatIsNoLibraryIsBroken) {
  TestRig rig(healthy(1));
  rig.write("libnvidia-ml.so.1", "not an ELF file");
  rig.options.nvml_library =
      std::filesystem::path(rig.options.sys_root).parent_path() / "libnvidia-ml.so.1";
  EXPECT_EQ(rig.open().kind, StateKind::broken);
}

TEST(NvmlState, ALibraryWithoutTheNecessaryIsBroken) {
  TestRig rig(healthy(1));
  rig.options.nvml_library = "libm.so.6";
  const ProbeState state = rig.open();
  EXPECT_EQ(state.kind, StateKind::broken);
  EXPECT_NE(state.reason.find("nvmlInit_v2"), std::string::npos) << state.reason;
}

TEST(NvmlState, TellsAbsentBrokenAndDenied) {
  const struct {
    int code;
    StateKind kind;
    const char* word;
  } cases[] = {{9, StateKind::absent, "not loaded"},
               {12, StateKind::absent, "not found"},
               {18, StateKind::broken, "upgraded"},
               {4, StateKind::denied, "user"},
               {999, StateKind::broken, "scripted error"}};
  for (const auto& each : cases) {
    TestRig rig(healthy(1, "system init! " + std::to_string(each.code) + "\n"));
    const ProbeState state = rig.open();
    EXPECT_EQ(state.kind, each.kind) << each.code;
    EXPECT_NE(state.reason.find(each.word), std::string::npos) << state.reason;
    rig.run_to(5);
    EXPECT_EQ(rig.calls("nvmlInit_v2"), 1u) << "no retries on its own";
  }
}

TEST(NvmlState, NoDevicesIsAbsent) {
  TestRig rig(healthy(0));
  EXPECT_EQ(rig.open().kind, StateKind::absent);
}

TEST(NvmlFallback, OldDriverIsReadByOlderCalls) {
  TestRig rig(healthy(1, "0 processes.compute 0:100/4096,200/8192\n"), 450);
  EXPECT_EQ(rig.open().kind, StateKind::works);
  rig.run_to(5.1);
  EXPECT_EQ(status(rig, "memory_used_bytes"), SampleStatus::ok);
  EXPECT_EQ(rig.source(gpu_id(0), "memory_used_bytes"),
            "nvmlDeviceGetMemoryInfo (used includes reserved)");
  EXPECT_EQ(status(rig, "memory_reserved_bytes"), SampleStatus::not_supported);
  EXPECT_EQ(rig.source(gpu_id(0), "power_watts"), "nvmlDeviceGetPowerUsage");
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(0), "power_watts").value, 999);
  EXPECT_EQ(rig.source(gpu_id(0), "energy_joules"), "nvmlDeviceGetTotalEnergyConsumption");
  EXPECT_EQ(rig.source(gpu_id(0), "power_limit_watts"), "nvmlDeviceGetEnforcedPowerLimit");
  EXPECT_EQ(rig.source(gpu_id(0), "temperature_celsius"), "nvmlDeviceGetTemperature");
  EXPECT_EQ(rig.source(gpu_id(0), "throttle_reasons"), "nvmlDeviceGetCurrentClocksThrottleReasons");
  EXPECT_EQ(status(rig, "power_instant_watts"), SampleStatus::not_supported);
  EXPECT_EQ(status(rig, "throttle_power_ns"), SampleStatus::not_supported);
  EXPECT_EQ(rig.processes(gpu_id(0)).size(), 2u);
  EXPECT_GT(rig.calls("nvmlDeviceGetComputeRunningProcesses"), 0u);
}

TEST(NvmlFallback, NewDriverIsReadByNewerCalls) {
  TestRig rig(healthy(1), 550);
  rig.open();
  EXPECT_EQ(rig.source(gpu_id(0), "memory_used_bytes"), "nvmlDeviceGetMemoryInfo_v2");
  EXPECT_EQ(rig.source(gpu_id(0), "power_watts"), "nvml field 185 scope 0");
  EXPECT_EQ(rig.source(gpu_id(0), "energy_joules"), "nvml field 83");
  EXPECT_EQ(rig.source(gpu_id(0), "throttle_reasons"), "nvmlDeviceGetCurrentClocksEventReasons");
  EXPECT_EQ(rig.source(gpu_id(0), "throttle_thermal_ns"), "nvml field 75");
  EXPECT_EQ(rig.calls("nvmlDeviceGetMemoryInfo"), 0u);
  EXPECT_EQ(rig.calls("nvmlDeviceGetPowerUsage"), 0u);
  TestRig newest(healthy(1), 580);
  newest.open();
  EXPECT_EQ(newest.source(gpu_id(0), "temperature_celsius"), "nvmlDeviceGetTemperatureV");
}

TEST(NvmlFallback, AFieldThatIsMissingIsReplacedByTheNextWay) {
  TestRig rig(healthy(1,
                      "0 field.185! 3\n"
                      "0 field.138! 3\n0 field.139! 3\n0 field.202 11\n0 field.204 22\n"));
  rig.open();
  rig.run_to(6);
  EXPECT_EQ(rig.source(gpu_id(0), "power_watts"), "nvmlDeviceGetPowerUsage");
  EXPECT_EQ(rig.board.get(gpu_id(0), "link_send_bytes").value, 11);
  EXPECT_EQ(rig.board.get(gpu_id(0), "link_receive_bytes").value, 22);
}

// In the headers of CUDA 12.9 and 13.0 they are of power smoothing.
TEST(NvmlFallback, NumbersThatChangedTheirMeaningAreNotAskedFor) {
  for (const FieldWay& way : field_ways()) {
    for (const std::uint32_t field : way.fields) EXPECT_LT(field, 251U) << way.source;
  }
}

TEST(NvmlFallback, StepsDownOnceAndRemembers) {
  TestRig rig(healthy(1), 510);
  rig.open();
  rig.run_to(11);
  EXPECT_EQ(rig.calls("nvmlDeviceGetMemoryInfo"), 0u);
  TestRig old(healthy(1), 470);
  old.open();
  old.run_to(11);
  EXPECT_EQ(old.calls("nvmlDeviceGetComputeRunningProcesses"), 0u);
  EXPECT_GT(old.calls("nvmlDeviceGetComputeRunningProcesses_v2"), 1u);
}

TEST(NvmlSleep, TouchesNothingWhileEveryGpuSleeps) {
  TestRig rig(healthy(1));
  rig.add_pci("0000:00:00.0", "suspended");
  const ProbeState state = rig.open();
  EXPECT_EQ(state.kind, StateKind::works);
  rig.run_to(40);
  EXPECT_EQ(rig.calls(nullptr), 0u);
  ASSERT_EQ(rig.board.entities.size(), 1u);
  EXPECT_EQ(rig.board.entities[0].id, "0000:00:00.0");
  EXPECT_EQ(rig.board.get("0000:00:00.0", "busy_ratio").status, SampleStatus::suspended);
  EXPECT_EQ(rig.board.get("0000:00:00.0", "memory_used_bytes").status, SampleStatus::suspended);

  rig.add_pci("0000:00:00.0", "active");
  rig.run_to(42);
  ASSERT_EQ(rig.board.entities.size(), 1u) << "the same device under the same id";
  EXPECT_EQ(rig.board.get("0000:00:00.0", "busy_ratio").status, SampleStatus::ok);
  EXPECT_EQ(rig.fact("0000:00:00.0", "uuid"), gpu_id(0));
}

TEST(NvmlSleep, ReadsTheOthersAndLeavesTheSleeperAlone) {
  TestRig rig(healthy(2, "1 all# 1\n1 uuid# 1\n1 pci# 1\n"));  // a touch would crash
  rig.add_pci("0000:00:00.0", "active");
  rig.add_pci("0000:01:00.0", "suspended");
  rig.open();
  rig.run_to(11);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
  EXPECT_EQ(rig.board.get("0000:01:00.0", "busy_ratio").status, SampleStatus::suspended);
  EXPECT_EQ(rig.calls("nvmlDeviceGetHandleByIndex_v2"), 0u);
}

TEST(NvmlSleep, FollowsADeviceIntoSleepAndOut) {
  TestRig rig(healthy(1, "0 fan! 3\n"));
  rig.add_pci("0000:00:00.0", "active");
  rig.open();
  rig.run_to(2);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
  rig.add_pci("0000:00:00.0", "suspended");
  rig.run_to(2.1);
  const std::uint64_t calls = rig.calls(nullptr);
  rig.run_to(50);
  EXPECT_EQ(rig.calls(nullptr), calls);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::suspended);
  EXPECT_EQ(status(rig, "fan_ratio"), SampleStatus::suspended);
  rig.add_pci("0000:00:00.0", "active");
  rig.run_to(52);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
  EXPECT_EQ(status(rig, "fan_ratio"), SampleStatus::not_supported);
  EXPECT_EQ(rig.events("device_suspended"), 1);
  EXPECT_EQ(rig.events("device_awake"), 1);
}

// What the remote probe is for: in this process a fault of the driver's library is ours. The rig is
// made outside, so that this process removes its folder.
TEST(NvmlDeathTest, AFaultInTheLibraryEndsTheProcess) {
  TestRig rig(healthy(1, "0 busy# 0:0 2:1\n"));
  EXPECT_DEATH(
      {
        rig.open();
        rig.run_to(3);
        std::_Exit(0);
      },
      "");
}

}  // namespace
}  // namespace genscope::probe::nvml
