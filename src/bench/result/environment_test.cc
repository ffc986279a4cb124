#include "bench/result/environment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::bench {
namespace {

void put(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

std::string status_of(const Environment& e, std::string_view name) {
  for (const EnvironmentCheck& check : e.checks) {
    if (check.name == name) return check.status;
  }
  return "none";
}

class EnvironmentTest : public ::testing::Test {
 protected:
  EnvironmentTest() {
    options_.proc_root = dir_.path() + "/proc";
    options_.sys_root = dir_.path() + "/sys";
    options_.nvml_library = dir_.path() + "/none.so";
    put(options_.proc_root + "/stat", "cpu  1 2 3 4 5 6 7 8\n");
    put(options_.proc_root + "/cpuinfo", "model name\t: Test CPU 9000\n");
    put(options_.proc_root + "/meminfo",
        "MemTotal: 1000 kB\nMemFree: 500 kB\nMemAvailable: 600 kB\n");
    put(options_.proc_root + "/loadavg", "2.00 1.0 1.0 1/100 1\n");
    put(options_.proc_root + "/sys/kernel/osrelease", "6.1.0\n");
    put(options_.sys_root + "/devices/system/cpu/online", "0-3\n");
    put(options_.sys_root + "/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    put(options_.sys_root + "/devices/system/cpu/intel_pstate/no_turbo", "0\n");
  }
  genscope::testing::TempDir dir_;
  ProbeOptions options_;
};

TEST_F(EnvironmentTest, NamesTheMachineAndWhatMakesItNoisy) {
  const Environment e = inspect_environment(options_);
  EXPECT_EQ(e.fingerprint.at("cpu"), "Test CPU 9000");
  EXPECT_EQ(e.fingerprint.at("cores"), "4");
  EXPECT_EQ(e.fingerprint.at("kernel"), "6.1.0");
  EXPECT_EQ(e.fingerprint.at("ram_bytes"), "1024000");
  EXPECT_TRUE(e.klass.starts_with("Test CPU 9000, 4 cores, Linux")) << e.klass;
  EXPECT_EQ(status_of(e, "governor"), "warn");
  EXPECT_EQ(status_of(e, "turbo"), "warn");
  EXPECT_EQ(status_of(e, "load"), "warn");  // 0.5 per core
  EXPECT_EQ(status_of(e, "memory"), "ok");
}

TEST_F(EnvironmentTest, TheClassDoesNotHangOnReadings) {
  const std::string before = inspect_environment(options_).klass;
  put(options_.proc_root + "/loadavg", "0.10 1.0 1.0 1/100 1\n");
  put(options_.sys_root + "/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  const Environment e = inspect_environment(options_);
  EXPECT_EQ(e.klass, before);
  EXPECT_EQ(status_of(e, "governor"), "ok");
  EXPECT_EQ(status_of(e, "load"), "ok");
}

TEST(EnvironmentClass, HasGpusDriverBranchAndRuntime) {
  const std::map<std::string, std::string> facts = {{"gpus.0.name", "RTX 4090"},
                                                    {"gpus.0.driver", "550.54.14"},
                                                    {"gpus.0.cuda", "12.4"},
                                                    {"gpus.1.name", "RTX 4090"},
                                                    {"cpu", "C"},
                                                    {"cores", "16"},
                                                    {"os_family", "Linux"},
                                                    {"machine", "x86_64"},
                                                    {"governor", "powersave"}};
  EXPECT_EQ(environment_class(facts),
            "2 x RTX 4090, driver 550, CUDA 12.4, C, 16 cores, Linux x86_64");
}

TEST(EnvironmentOfThisMachine, HasAClass) {
  const Environment e = inspect_environment();
  EXPECT_FALSE(e.klass.empty());
  EXPECT_GE(e.checks.size(), 4U);
}

}  // namespace
}  // namespace genscope::bench
