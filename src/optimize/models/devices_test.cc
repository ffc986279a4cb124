#include <genscope/optimize/models.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "test_paths.h"
#include "testing/temp_dir.h"

namespace genscope::optimize::models_devices_test {
namespace {

class Devices : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_ / "proc");
    std::filesystem::create_directories(dir_ / "sys");
    std::ofstream(dir_ / "proc/meminfo") << "MemTotal: 16777216 kB\nMemFree: 1048576 kB\n"
                                            "MemAvailable: 8388608 kB\n";
    options_.proc_root = dir_ / "proc";
    options_.sys_root = dir_ / "sys";
    options_.nvml_library = dir_ / "no such library";
  }
  genscope::testing::TempDir dir_;
  ProbeOptions options_;
};

TEST_F(Devices, WithoutAGpuThereIsTheCpuAndTheReason) {
  DeviceManager manager(options_);
  const std::vector<DeviceInfo> devices = manager.devices();
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].id, "cpu");
  EXPECT_FALSE(devices[0].gpu);
  EXPECT_EQ(devices[0].total_bytes, 16 * kGiB);
  EXPECT_EQ(devices[0].free_bytes, 8 * kGiB);
  EXPECT_EQ(manager.used_bytes("cpu"), 8 * kGiB);
  std::vector<std::string> absent;
  for (const auto& a : manager.absent()) {
    EXPECT_FALSE(a.reason.empty()) << a.source;
    absent.push_back(a.source);
  }
  EXPECT_THAT(absent, ::testing::IsSupersetOf({"nvml", "amdgpu", "intel"}));
}

TEST_F(Devices, MemoryThatCannotBeReadIsAbsentWithAReason) {
  std::filesystem::remove(dir_ / "proc/meminfo");
  DeviceManager manager(options_);
  const Result<DeviceInfo> cpu = manager.device("cpu");
  ASSERT_TRUE(cpu);
  EXPECT_FALSE(cpu->total_bytes);
  EXPECT_FALSE(cpu->reason.empty());
  EXPECT_EQ(manager.used_bytes("cpu"), std::nullopt);
}

TEST_F(Devices, GpusComeFromTheDriverAndAreReadAnew) {
  const auto write = [&](const char* used) {
    std::ofstream(dir_ / "scenario") << "devices 2\n0 uuid = GPU-A\n1 uuid = GPU-B\n"
                                        "0 pci = 0000:01:00.0\n1 pci = 0000:02:00.0\n"
                                        "0 index 0\n1 index 1\n* name = NVIDIA Double\n"
                                        "* memory.total 8589934592\n* memory.free 1073741824\n"
                                        "* memory.reserved 0\n0 memory.used 1048576000\n"
                                        "1 memory.used "
                                     << used << '\n';
  };
  write("2097152000");
  options_.nvml_library = std::string(GENSCOPE_NVML_DOUBLE_DIR) + "/580/libnvidia-ml.so.1";
  ::setenv("GENSCOPE_NVML_SCENARIO", (dir_ / "scenario").c_str(), 1);
  {
    DeviceManager manager(options_);
    const std::vector<DeviceInfo> devices = manager.devices();
    ASSERT_EQ(devices.size(), 3u);
    EXPECT_EQ(devices[0].name, "NVIDIA Double");
    EXPECT_EQ(devices[0].vendor, "nvidia");
    EXPECT_EQ(devices[0].total_bytes, 8 * kGiB);
    EXPECT_EQ(devices[2].id, "cpu");
    EXPECT_EQ(manager.used_bytes("gpu1"), 2'097'152'000u);
    EXPECT_EQ(manager.used_bytes("GPU-A"), 1'048'576'000u);
    const Result<DeviceInfo> none = manager.device("gpu7");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message, "there is no device gpu7; there are gpu0, gpu1, cpu");
  }
  ::unsetenv("GENSCOPE_NVML_SCENARIO");
}

}  // namespace
}  // namespace genscope::optimize::models_devices_test
