// Devices that go and come back, refuse, are divided anew, stand still, or answer late.
#include <gtest/gtest.h>

#include <pthread.h>
#include <time.h>

#include "probe/nvidia/test_rig.h"

namespace genscope::probe::nvml {
namespace {

TEST(NvmlLoss, LosesOneDeviceFindsItAgainAndLeavesTheOthersAlone) {
  TestRig rig(healthy(2,
                      "1 all! 0:0 5:15 20:0\n1 epoch 0:0 20:1\n1 field.83 0:5000000 20:1000\n"
                      "system handle.1! 0:0 5:15 20:0\n"));
  rig.open();
  rig.run_to(5.2);
  EXPECT_EQ(status(rig, "memory_used_bytes", 1), SampleStatus::lost);
  EXPECT_EQ(status(rig, "temperature_celsius", 1), SampleStatus::lost);
  EXPECT_EQ(rig.events("device_lost", gpu_id(1)), 1);
  EXPECT_EQ(status(rig, "memory_used_bytes", 0), SampleStatus::ok);

  const std::uint64_t used = rig.calls("nvmlDeviceGetUtilizationRates");
  rig.run_to(34.9);
  EXPECT_EQ(rig.calls("nvmlDeviceGetUtilizationRates"), used + 297) << "only the healthy device";
  EXPECT_EQ(status(rig, "memory_used_bytes", 1), SampleStatus::lost);
  EXPECT_EQ(rig.events("device_back"), 0) << "looked for every 30 s, not before";

  rig.run_to(37);
  EXPECT_EQ(rig.events("device_back", gpu_id(1)), 1);
  EXPECT_EQ(status(rig, "memory_used_bytes", 1), SampleStatus::ok);
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(1), "energy_joules").value, 1);
  EXPECT_EQ(rig.events("device_lost"), 1);
  EXPECT_EQ(rig.board.entities.size(), 2u);
  EXPECT_EQ(rig.calls("nvmlInit_v2"), 1u);
}

TEST(NvmlPermission, OneDeviceIsRefusedTheOthersWork) {
  TestRig rig(healthy(3, "system handle.1! 0:4 50:0\n"));
  rig.add_pci("0000:00:00.0", "active");
  rig.add_pci("0000:01:00.0", "active");
  rig.add_pci("0000:02:00.0", "active");
  const ProbeState state = rig.open();
  EXPECT_EQ(state.kind, ProbeState::Kind::works);
  EXPECT_NE(state.reason.find("/dev/nvidia"), std::string::npos);
  rig.run_to(10);
  EXPECT_EQ(status(rig, "busy_ratio", 0), SampleStatus::ok);
  EXPECT_EQ(status(rig, "busy_ratio", 2), SampleStatus::ok);
  const Reading refused = rig.board.get("0000:01:00.0", "busy_ratio");
  EXPECT_EQ(refused.status, SampleStatus::not_permitted);
  EXPECT_NE(refused.reason, nullptr);
  rig.run_to(59);
  EXPECT_EQ(rig.board.get("0000:01:00.0", "busy_ratio").status, SampleStatus::not_permitted);
  rig.run_to(62);
  EXPECT_EQ(rig.board.get("0000:01:00.0", "busy_ratio").status, SampleStatus::ok);
}

TEST(NvmlPermission, EveryDeviceRefusedIsDenied) {
  TestRig rig(healthy(1, "system handle.0! 4\n"));
  const ProbeState state = rig.open();
  EXPECT_EQ(state.kind, ProbeState::Kind::denied);
  EXPECT_FALSE(state.remedy.empty());
}

TEST(NvmlPermission, OneMetricIsRefusedAndAskedForAgainAfterAMinute) {
  TestRig rig(healthy(1, "0 ecc! 0:4 30:0\n"));
  rig.open();
  rig.run_to(58);
  EXPECT_EQ(status(rig, "ecc_errors"), SampleStatus::not_permitted);
  EXPECT_EQ(status(rig, "temperature_celsius"), SampleStatus::ok);
  EXPECT_EQ(rig.calls("nvmlDeviceGetTotalEccErrors"), 1u);
  rig.run_to(66);
  EXPECT_EQ(status(rig, "ecc_errors"), SampleStatus::ok);
}

// Instance 1 is a hole; at second 10 instance 2 goes and 1 comes.
constexpr const char* kMig =
    "0 mig.mode 1\n0 mig.max 7\n0 mig.0 1\n0 mig.1 0:0 10:1\n0 mig.2 0:1 10:0\n"
    "0 memory! 4\n0 busy! 3\n0 gpm 1\n"
    "0.0 name = H100 MIG 3g.40gb\n0.0 gi 1\n0.0 ci 0\n0.0 slices 3\n0.0 sms 46\n"
    "0.0 memory.total 40000000000\n0.0 memory.used 1000\n0.0 gpm.2 60\n"
    "0.0 processes.compute 4000/1048576\n"
    "0.1 gi 5\n0.1 ci 0\n0.1 memory.total 10000000000\n0.1 memory.used 2000\n"
    "0.2 gi 2\n0.2 ci 0\n0.2 memory.total 20000000000\n0.2 memory.used 3000\n";

TEST(NvmlMig, EachInstanceIsAnEntityHolesAreSkipped) {
  TestRig rig(healthy(2, kMig));
  rig.options.gpu_counters = true;
  rig.open();
  rig.run_to(1);
  const std::string first = gpu_id(0) + "/gi1/ci0", second = gpu_id(0) + "/gi2/ci0";
  ASSERT_EQ(rig.board.entities.size(), 4u);
  EXPECT_EQ(rig.fact(first, "parent"), gpu_id(0));
  EXPECT_EQ(rig.fact(first, "slices"), "3");
  const auto entity = static_cast<std::size_t>(rig.board.entity(first));
  EXPECT_EQ(rig.board.entities[entity].kind, EntityKind::gpu_instance);
  EXPECT_EQ(rig.board.entities[entity].name, "H100 MIG 3g.40gb");
  EXPECT_EQ(rig.board.get(first, "memory_used_bytes").value, 1000);
  EXPECT_EQ(rig.board.get(second, "memory_used_bytes").value, 3000);
  const Reading busy = rig.board.get(first, "busy_ratio");
  EXPECT_EQ(busy.status, SampleStatus::not_supported);
  EXPECT_STREQ(busy.reason, "the driver does not tell the busy time of a MIG instance");
  EXPECT_NEAR(rig.board.get(first, "sm_active_ratio").value, 0.6, 1e-9);
  ASSERT_EQ(rig.processes(first).size(), 1u);
  EXPECT_EQ(rig.processes(first)[0].pid, 4000u);
  // The parent's memory is denied, the rest of it and its sibling are fine.
  EXPECT_EQ(status(rig, "memory_used_bytes", 0), SampleStatus::not_permitted);
  EXPECT_EQ(status(rig, "temperature_celsius", 0), SampleStatus::ok);
  EXPECT_EQ(status(rig, "memory_used_bytes", 1), SampleStatus::ok);
}

TEST(NvmlMig, IsEnumeratedAnewWhenReconfigured) {
  TestRig rig(healthy(1, kMig));
  rig.open();
  rig.run_to(9.9);
  const std::string kept = gpu_id(0) + "/gi1/ci0", gone = gpu_id(0) + "/gi2/ci0",
                    added = gpu_id(0) + "/gi5/ci0";
  EXPECT_LT(rig.board.entity(added), 0);
  rig.run_to(12);
  EXPECT_EQ(rig.board.get(added, "memory_used_bytes").value, 2000);
  EXPECT_EQ(rig.board.get(gone, "memory_used_bytes").status, SampleStatus::lost);
  EXPECT_EQ(rig.events("instance_removed", gone), 1);
  EXPECT_EQ(rig.board.get(kept, "memory_used_bytes").status, SampleStatus::ok);
  EXPECT_EQ(rig.events("device_lost"), 0);
  EXPECT_EQ(rig.calls("nvmlInit_v2"), 1u);
}

TEST(NvmlMig, SeesTheModeSwitchedOn) {
  TestRig rig(healthy(1, std::string(kMig) + "0 mig.mode 0:0 7:1\n"));
  rig.open();
  rig.run_to(6);
  EXPECT_EQ(rig.board.entities.size(), 1u);
  rig.run_to(12);
  EXPECT_GT(rig.board.entities.size(), 1u);
}

TEST(NvmlCounters, AResetIsAnEventAndTheNewValueStands) {
  TestRig rig(healthy(1, "0 field.83 0:5000000 3:1000 4:2000\n"));
  rig.open();
  rig.run_to(5);
  EXPECT_EQ(rig.events("counter_reset"), 1);
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(0), "energy_joules").value, 2);
}

TEST(NvmlCounters, EnergyThatStandsStillUnderLoadIsStale) {
  TestRig rig(healthy(1, "0 field.83 ramp 0:1000 2:3000\n"));
  rig.open();
  rig.run_to(4.8);
  EXPECT_EQ(status(rig, "energy_joules"), SampleStatus::ok);
  rig.run_to(5.2);
  EXPECT_EQ(status(rig, "energy_joules"), SampleStatus::stale);
  EXPECT_EQ(status(rig, "power_watts"), SampleStatus::ok);
}

TEST(NvmlCounters, EnergyThatStandsStillWithoutLoadIsFine) {
  TestRig rig(healthy(1, "0 field.83 1000\n0 field.185 2000\n"));
  rig.open();
  rig.run_to(10);
  EXPECT_EQ(status(rig, "energy_joules"), SampleStatus::ok);
}

TEST(NvmlCounters, PowerAndEnergyThatDisagreeAreBothKept) {
  TestRig rig(healthy(1, "0 field.185 100000\n0 field.83 ramp 0:0 10:1700000\n"));
  rig.open();
  rig.run_to(10);
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(0), "power_watts").value, 100);
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(0), "energy_joules").value, 1700);
}

TEST(NvmlStale, AStampThatStandsStillForTwoSecondsIsStale) {
  TestRig rig(
      healthy(1, "0 samples.stamp ramp 0:0 3:3 100:3\n0 field.186.stamp ramp 0:0 3:3 100:3\n"));
  rig.open();
  rig.run_to(4.5);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
  EXPECT_EQ(status(rig, "power_instant_watts"), SampleStatus::ok);
  rig.run_to(6);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::stale);
  EXPECT_EQ(status(rig, "power_instant_watts"), SampleStatus::stale);
  EXPECT_EQ(status(rig, "power_watts"), SampleStatus::ok);
}

TEST(NvmlTransient, KeepsTheValueThenCallsItStale) {
  TestRig rig(healthy(1, "0 busy! 0:0 2:21\n"));
  rig.open();
  rig.run_to(2.1);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
  rig.run_to(3);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::stale);
}

TEST(NvmlTransient, FiveFailuresMakeItDegraded) {
  TestRig rig(healthy(1, "0 busy! 0:0 2:999 12:0\n"));
  rig.open();
  rig.run_to(1.9);
  const std::uint64_t before = rig.calls("nvmlDeviceGetUtilizationRates");
  rig.run_to(11.9);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::error);
  EXPECT_EQ(rig.events("source_degraded"), 1);
  EXPECT_LE(rig.calls("nvmlDeviceGetUtilizationRates") - before, 16u);
  rig.run_to(14);
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
}

TEST(NvmlReinit, StartsTheLibraryAnewOnceAndThenBacksOff) {
  TestRig rig(healthy(2, "0 memory! 0:0 3:1 6:0 20:1 60:0\n"));
  rig.open();
  rig.run_to(4.1);
  EXPECT_EQ(rig.calls("nvmlInit_v2"), 2u) << "at once";
  rig.run_to(8);
  const std::uint64_t inits = rig.calls("nvmlInit_v2");
  EXPECT_LE(inits, 2u) << "then it waits 30 s";
  EXPECT_EQ(status(rig, "memory_used_bytes", 1), SampleStatus::error);
  rig.run_to(100);
  EXPECT_EQ(status(rig, "memory_used_bytes", 0), SampleStatus::ok);
  EXPECT_EQ(status(rig, "memory_used_bytes", 1), SampleStatus::ok);
  EXPECT_LE(rig.calls("nvmlInit_v2"), 4u);
  EXPECT_EQ(rig.initialized(), 1);
}

void pause_briefly() {
  const timespec pause{0, 1'000'000};
  nanosleep(&pause, nullptr);
}

TEST(NvmlSlow, ACallOf300MsMovesToTheHelperThread) {
  TestRig rig(healthy(2, "0 busy~ 0:0 1:300\n"));
  rig.open();
  rig.run_to(1);
  EXPECT_EQ(rig.events("slow_source", gpu_id(0)), 1);
  const std::uint64_t me = static_cast<std::uint64_t>(pthread_self());
  const char* const function = "nvmlDeviceGetUtilizationRates";
  const std::uint64_t moved = rig.calls(function);
  // Device 1 is still read here and once a tick; device 0 by the other thread.
  bool other = false;
  for (int i = 0; i < 5000 && !other; ++i) {
    rig.probe->sample(Tier::fast, rig.now_ns(), rig.board);
    pause_briefly();
    other = rig.thread(function) != me;
  }
  EXPECT_TRUE(other);
  EXPECT_GT(rig.calls(function), moved);
  EXPECT_EQ(status(rig, "busy_ratio", 0), SampleStatus::ok);
  EXPECT_EQ(status(rig, "busy_ratio", 1), SampleStatus::ok);
  EXPECT_EQ(rig.events("slow_source"), 1);
  EXPECT_EQ(rig.violations(), 0u);
}

TEST(NvmlSlow, PcieThroughputIsNeverReadOnTheSamplersThread) {
  TestRig rig(healthy(1, "0 field.197! 3\n0 field.198! 3\n0 pcie.0~ 20\n0 pcie.1~ 20\n"));
  rig.open();
  EXPECT_EQ(rig.board.find(gpu_id(0), "pcie_send_bytes"), nullptr);
  for (int i = 0; i < 5000 && status(rig, "pcie_send_bytes_per_second") != SampleStatus::ok; ++i) {
    pause_briefly();
    rig.probe->sample(Tier::fast, rig.now_ns(), rig.board);
    rig.probe->sample(Tier::slow, rig.now_ns(), rig.board);
  }
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(0), "pcie_send_bytes_per_second").value, 100e3);
  EXPECT_DOUBLE_EQ(rig.board.get(gpu_id(0), "pcie_receive_bytes_per_second").value, 200e3);
  EXPECT_NE(rig.thread("nvmlDeviceGetPcieThroughput"), static_cast<std::uint64_t>(pthread_self()));
  EXPECT_EQ(rig.events("slow_source"), 0);
  EXPECT_EQ(rig.violations(), 0u);
}

}  // namespace
}  // namespace genscope::probe::nvml
