// What a healthy device says, and what one says that is not quite: exact values, per-field errors,
// odd types, garbage, unified memory.
#include <gtest/gtest.h>

#include <cmath>

#include "probe/nvidia/test_rig.h"
#include "trace/metrics.h"

namespace genscope::probe::nvml {
namespace {

void expect_value(const TestRig& rig, const std::string& id, std::string_view metric,
                  double value) {
  const Reading reading = rig.board.get(id, metric);
  EXPECT_EQ(reading.status, SampleStatus::ok) << metric << ": " << name(reading.status);
  EXPECT_NEAR(reading.value, value, 1e-6 * std::fabs(value)) << metric;
}

class NvmlHealthy : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Gpus, NvmlHealthy, ::testing::Values(1, 2, 8));

TEST_P(NvmlHealthy, GivesTheScriptedValues) {
  TestRig rig(healthy(GetParam()));
  EXPECT_EQ(rig.open().kind, ProbeState::Kind::works);
  rig.run_to(30);
  ASSERT_EQ(rig.board.entities.size(), static_cast<std::size_t>(GetParam()));
  for (int i = 0; i < GetParam(); ++i) {
    const std::string id = gpu_id(i);
    expect_value(rig, id, "memory_total_bytes", 85520809984);
    expect_value(rig, id, "memory_used_bytes", 31e9);
    expect_value(rig, id, "memory_free_bytes", 60e9);
    expect_value(rig, id, "memory_reserved_bytes", 502267904);
    expect_value(rig, id, "busy_ratio", 0.10 + 0.01 * i);
    expect_value(rig, id, "memory_busy_ratio", 0.07);
    expect_value(rig, id, "power_watts", (100.0 + i + 400) / 2);
    expect_value(rig, id, "power_instant_watts", 120);
    expect_value(rig, id, "power_limit_watts", 700);
    expect_value(rig, id, "clock_core_mhz", 1980);
    expect_value(rig, id, "clock_memory_mhz", 2619);
    expect_value(rig, id, "clock_media_mhz", 1545);
    expect_value(rig, id, "clock_core_max_mhz", 1981);
    expect_value(rig, id, "temperature_celsius", 45);
    expect_value(rig, id, "temperature_memory_celsius", 61);
    expect_value(rig, id, "temperature_margin_celsius", 42);
    expect_value(rig, id, "temperature_limit_celsius", 87);
    expect_value(rig, id, "fan_ratio", 0.33);
    expect_value(rig, id, "throttle_reasons", trace::kThrottlePowerCap);
    expect_value(rig, id, "throttle_power_ns", 3e9);
    expect_value(rig, id, "throttle_thermal_ns", 3000);
    expect_value(rig, id, "pcie_send_bytes", 30e6);
    expect_value(rig, id, "pcie_receive_bytes", 4096);
    expect_value(rig, id, "link_send_bytes", 10 * 1024);
    expect_value(rig, id, "link_receive_bytes", 20 * 1024);
    expect_value(rig, id, "pcie_generation", 5);
    expect_value(rig, id, "pcie_lanes", 16);
    expect_value(rig, id, "ecc_errors", 3);
  }
  EXPECT_EQ(rig.violations(), 0u);
  EXPECT_TRUE(rig.board.events.empty());
  // Counters are there: the blocking call is not wanted, and its series not shown.
  EXPECT_EQ(rig.calls("nvmlDeviceGetPcieThroughput"), 0u);
  EXPECT_EQ(rig.board.find(gpu_id(0), "pcie_send_bytes_per_second"), nullptr);
}

TEST_P(NvmlHealthy, EnergyIsTheIntegralOfPower) {
  TestRig rig(healthy(GetParam()));
  rig.open();
  const std::string id = gpu_id(GetParam() - 1);
  double joules = 0, last_watts = rig.board.get(id, "power_watts").value, last_s = rig.seconds();
  const double start = rig.board.get(id, "energy_joules").value;
  rig.run_to(60, [&] {
    const double watts = rig.board.get(id, "power_watts").value;
    joules += (watts + last_watts) / 2 * (rig.seconds() - last_s);
    last_watts = watts;
    last_s = rig.seconds();
  });
  const double counted = rig.board.get(id, "energy_joules").value - start;
  const double analytic = (100.0 + (GetParam() - 1) + 400) / 2 * 60;
  EXPECT_NEAR(counted, analytic, 0.005 * analytic);
  EXPECT_NEAR(joules, analytic, 0.005 * analytic);
}

TEST(NvmlProbe, NamesEachDevice) {
  TestRig rig(healthy(2));
  rig.open();
  EXPECT_EQ(rig.board.entities[1].kind, EntityKind::gpu);
  EXPECT_EQ(rig.board.entities[1].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(rig.fact(gpu_id(1), "vendor"), "nvidia");
  EXPECT_EQ(rig.fact(gpu_id(1), "pci"), "0000:01:00.0");
  EXPECT_EQ(rig.fact(gpu_id(1), "driver"), "570.86.15");
  EXPECT_EQ(rig.fact(gpu_id(1), "cuda"), "12.8");
  EXPECT_EQ(rig.fact(gpu_id(1), "index"), "1");
  EXPECT_EQ(rig.fact(gpu_id(1), "architecture"), "Hopper");
  EXPECT_EQ(rig.fact(gpu_id(1), "memory"), "");
}

TEST(NvmlProbe, MakesOneFieldCallATier) {
  TestRig rig(healthy(1));
  rig.open();
  const std::uint64_t opened = rig.calls("nvmlDeviceGetFieldValues");
  rig.probe->sample(Tier::fast, rig.now_ns(), rig.board);
  EXPECT_EQ(rig.calls("nvmlDeviceGetFieldValues"), opened + 1);
  rig.probe->sample(Tier::normal, rig.now_ns(), rig.board);
  EXPECT_EQ(rig.calls("nvmlDeviceGetFieldValues"), opened + 2);
  rig.probe->sample(Tier::slow, rig.now_ns(), rig.board);
  EXPECT_EQ(rig.calls("nvmlDeviceGetFieldValues"), opened + 3);
}

TEST(NvmlProbe, DoesNotAskForWhatIsOff) {
  TestRig rig(healthy(1));
  rig.options.gpu_memory = rig.options.gpu_utilization = rig.options.gpu_temperature = false;
  rig.options.gpu_power = rig.options.gpu_processes = false;
  rig.open();
  rig.run_to(11);
  for (const char* const function :
       {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetUtilizationRates",
        "nvmlDeviceGetFieldValues", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetSamples", "nvmlDeviceGetClockInfo",
        "nvmlGpmQueryDeviceSupport"}) {
    EXPECT_EQ(rig.calls(function), 0u) << function;
  }
  EXPECT_TRUE(rig.board.series.empty());
}

TEST(NvmlProbe, ShutsTheLibraryDown) {
  TestRig rig(healthy(1));
  rig.options.gpu_counters = true;
  rig.open();
  EXPECT_EQ(rig.initialized(), 1);
  rig.probe.reset();
  EXPECT_EQ(rig.initialized(), 0);
}

TEST(NvmlProbe, EachFieldAnswersForItself) {
  TestRig rig(healthy(1,
                      "0 field.186! 999\n"     // unknown error
                      "0 field.82! 4\n"        // no permission
                      "0 field.74.type 4\n"    // signed 64
                      "0 field.75.type 6\n"    // unsigned 16
                      "0 field.198.type 99\n"  // a type of the future
                      "0 margin -3\n"
                      "0 threshold.1 -2\n"));
  rig.open();
  rig.run_to(6);
  EXPECT_EQ(status(rig, "power_watts"), SampleStatus::ok);
  EXPECT_EQ(status(rig, "energy_joules"), SampleStatus::ok);
  EXPECT_EQ(status(rig, "power_instant_watts"), SampleStatus::error);
  EXPECT_EQ(status(rig, "temperature_memory_celsius"), SampleStatus::not_permitted);
  expect_value(rig, gpu_id(0), "throttle_power_ns", 6e8);
  expect_value(rig, gpu_id(0), "throttle_thermal_ns", 3000);
  EXPECT_EQ(status(rig, "pcie_receive_bytes"), SampleStatus::error);
  EXPECT_EQ(status(rig, "pcie_send_bytes"), SampleStatus::ok);
  expect_value(rig, gpu_id(0), "temperature_margin_celsius", -3);
  const Reading limit = rig.board.get(gpu_id(0), "temperature_limit_celsius");
  EXPECT_EQ(limit.status, SampleStatus::not_supported);
  EXPECT_STREQ(limit.reason, "this GPU gives a margin, not an absolute limit");
}

TEST(NvmlProbe, UnifiedMemoryIsSaidAndNotZero) {
  for (const char* const script : {"* memory! 3\n", "* memory.total 0\n"}) {
    TestRig rig(healthy(1, script));
    rig.open();
    rig.run_to(1);
    EXPECT_EQ(rig.fact(gpu_id(0), "memory"), "unified") << script;
    const Reading used = rig.board.get(gpu_id(0), "memory_used_bytes");
    EXPECT_EQ(used.status, SampleStatus::not_supported) << script;
    EXPECT_STREQ(used.reason, "the GPU shares the system's memory: look there");
    EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::ok);
  }
}

TEST(NvmlProbe, GarbageIsImplausible) {
  TestRig rig(healthy(1, "0 busy.gpu 4294967295\n0 memory.used 0:1000 2:99999999999999\n"));
  rig.open();
  EXPECT_EQ(status(rig, "busy_ratio"), SampleStatus::implausible);
  EXPECT_EQ(status(rig, "memory_used_bytes"), SampleStatus::ok);
  rig.run_to(2);
  EXPECT_EQ(status(rig, "memory_used_bytes"), SampleStatus::implausible);
  EXPECT_EQ(status(rig, "power_watts"), SampleStatus::ok);
}

TEST(NvmlProbe, ReadsActivityCountersWhenAskedTo) {
  TestRig rig(healthy(1, "0 gpm 1\n0 gpm.2 80\n0 gpm.3 25\n0 gpm.10 50\n"));
  rig.options.gpu_counters = true;
  rig.open();
  EXPECT_EQ(status(rig, "sm_active_ratio"), SampleStatus::pending);
  rig.run_to(1);
  expect_value(rig, gpu_id(0), "sm_active_ratio", 0.8);
  expect_value(rig, gpu_id(0), "sm_occupancy_ratio", 0.25);
  expect_value(rig, gpu_id(0), "memory_bandwidth_ratio", 0.5);
  EXPECT_EQ(status(rig, "tensor_active_ratio"), SampleStatus::not_supported);
}

TEST(NvmlProbe, SaysThatActivityCountersNeedANewerGpu) {
  TestRig rig(healthy(1));
  rig.options.gpu_counters = true;
  rig.open();
  rig.run_to(2);
  EXPECT_EQ(status(rig, "sm_active_ratio"), SampleStatus::not_supported);
  EXPECT_EQ(rig.calls("nvmlGpmSampleGet"), 0u);
}

}  // namespace
}  // namespace genscope::probe::nvml
