// Sleep, loss and failing files, of both vendors.
#include "probe/drm/device.h"

#include <gtest/gtest.h>

#include "probe/drm/test_rig.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::probe::drm {
namespace {

using Fault = testing::FaultPlan::Fault;

Fault failing(int error, int first = 0, int count = testing::FaultPlan::kForever) {
  Fault fault;
  fault.error = error;
  fault.first = first;
  fault.count = count;
  return fault;
}

struct DrmDevice : ::testing::Test {
  TestRig amd() {
    tree.write_amd_discrete();
    return TestRig(make_amdgpu_probe, tree.options(), files, "0000:03:00.0");
  }
  TestRig intel() {
    tree.write_xe();
    return TestRig(make_intel_probe, tree.options(), files, "0000:09:00.0");
  }
  // Reads and opens of all files of the device but the one that says whether it sleeps.
  int touches() const {
    return files.touches("") - files.touches("runtime_status") - files.touches("/children");
  }

  testing::TempDir dir;
  TestTree tree{dir.path()};
  testing::FaultPlan files;
};

TEST_F(DrmDevice, ASleepingGpuIsNotTouched) {
  TestRig rig = amd();
  rig.tick();
  tree.write(tree.device("power/runtime_status"), "suspended\n");
  const int before = touches();
  for (int i = 0; i < 5; ++i) rig.tick();
  EXPECT_EQ(touches(), before);
  EXPECT_TRUE(rig.all(SampleStatus::suspended));
}

TEST_F(DrmDevice, ASleepingIntelGpuIsNotTouchedEither) {
  TestRig rig = intel();
  rig.tick();
  for (const char* word : {"suspended", "suspending", "resuming"}) {
    tree.write(tree.device("power/runtime_status"), word);
    const int before = touches();
    rig.tick();
    EXPECT_EQ(touches(), before) << word;
    EXPECT_TRUE(rig.all(SampleStatus::suspended)) << word;
  }
}

TEST_F(DrmDevice, AGpuThatSleepsFromTheStartIsReadOnceItWakes) {
  tree.write_amd_discrete();
  tree.write(tree.device("power/runtime_status"), "suspended\n");
  TestRig rig(make_amdgpu_probe, tree.options(), files, "0000:03:00.0");
  for (int i = 0; i < 3; ++i) rig.tick();
  EXPECT_TRUE(rig.all(SampleStatus::suspended));
  for (const char* file : {"gpu_metrics", "gpu_busy_percent", "power1_average", "temp1_input",
                           "mem_info_vram_total", "current_link_speed"}) {
    EXPECT_EQ(files.touches(file), 0) << file;
  }
  tree.write(tree.device("power/runtime_status"), "active\n");
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  EXPECT_EQ(rig.value("memory_total_bytes"), 25753026560.0);
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::not_supported);
}

TEST_F(DrmDevice, WhatHasNoValueSaysSoAgainAfterASleep) {
  TestRig rig = intel();
  rig.tick();
  tree.write(tree.device("power/runtime_status"), "suspended\n");
  rig.tick();
  tree.write(tree.device("power/runtime_status"), "active\n");
  tree.write(tree.hwmon("energy2_input"), "19500000000\n");
  rig.tick();
  EXPECT_EQ(rig.status("memory_used_bytes"), SampleStatus::not_supported);
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::pending) << "no difference across a sleep";
  EXPECT_EQ(rig.value("clock_core_mhz"), 2400);
}

TEST_F(DrmDevice, ReadsWithoutPowerManagement) {
  tree.write_amd_discrete();
  tree.remove(tree.device("power"));
  TestRig rig(make_amdgpu_probe, tree.options(), files, "0000:03:00.0");
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  tree.write(tree.device("power/runtime_status"), "unsupported\n");
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
}

TEST_F(DrmDevice, DoesNotReadWhenItCannotKnowWhetherItSleeps) {
  TestRig rig = amd();
  rig.tick();
  files.add("runtime_status", failing(EIO));
  const int before = touches();
  rig.tick();
  EXPECT_EQ(touches(), before);
  EXPECT_TRUE(rig.all(SampleStatus::error));
}

TEST_F(DrmDevice, IsLostAndComesBack) {
  TestRig rig = amd();
  rig.tick();
  files.add("power1_average", failing(ENODEV));
  rig.tick();
  EXPECT_TRUE(rig.all(SampleStatus::lost));
  EXPECT_EQ(rig.events("device_lost"), 1);
  EXPECT_FALSE(rig.probe->wants_rescan());
  const int before = touches();
  rig.tick(29);
  EXPECT_EQ(touches(), before) << "a lost device is left alone";
  EXPECT_FALSE(rig.probe->wants_rescan());
  rig.tick(1);
  ASSERT_TRUE(rig.probe->wants_rescan());

  files.add("mem_info_vram_used", failing(ENODEV));  // its folder is there; it is not
  rig.probe->open(rig.board);
  rig.tick();
  EXPECT_TRUE(rig.all(SampleStatus::lost));
  EXPECT_EQ(rig.events("device_lost"), 1) << "said once";
  EXPECT_EQ(rig.events("device_back"), 0);
  EXPECT_FALSE(rig.probe->wants_rescan());

  files.clear();
  rig.tick(30);
  ASSERT_TRUE(rig.probe->wants_rescan());
  rig.probe->open(rig.board);
  EXPECT_EQ(rig.events("device_back"), 1);
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  EXPECT_FALSE(rig.probe->wants_rescan());
  EXPECT_EQ(rig.board.entities.size(), 1u);
}

TEST_F(DrmDevice, IsLostWhenItsFolderGoes) {
  TestRig rig = intel();
  rig.tick();
  std::filesystem::rename(tree.path("sys/class/drm/card0"), tree.path("card0"));
  rig.tick();
  EXPECT_TRUE(rig.all(SampleStatus::lost));
  EXPECT_EQ(rig.events("device_lost"), 1);
  rig.tick(30);
  rig.probe->open(rig.board);
  EXPECT_EQ(rig.events("device_back"), 0);
  EXPECT_TRUE(rig.all(SampleStatus::lost));
  // It comes back with another number; its address is the same.
  std::filesystem::rename(tree.path("card0"), tree.path("sys/class/drm/card3"));
  rig.tick(30);
  ASSERT_TRUE(rig.probe->wants_rescan());
  rig.probe->open(rig.board);
  rig.tick();
  EXPECT_EQ(rig.events("device_back"), 1);
  EXPECT_EQ(rig.value("clock_core_mhz"), 2400);
}

TEST_F(DrmDevice, IsLostWhenItsFilesCannotBeFound) {
  TestRig rig = amd();
  rig.tick();
  files.add("gpu_busy_percent", failing(ENOENT));
  rig.tick();
  EXPECT_EQ(rig.status("busy_ratio"), SampleStatus::absent) << "one file alone is not the device";
  EXPECT_EQ(rig.events("device_lost"), 0);
  Fault gone = failing(ENOENT);
  gone.on_open = true;
  files.add("device/uevent", gone);
  rig.tick();
  EXPECT_EQ(rig.events("device_lost"), 1);
}

TEST_F(DrmDevice, OneLostGpuDoesNotTakeTheOtherAlong) {
  tree.write_amd_discrete();
  std::filesystem::rename(tree.path("sys/class/drm/card0"), tree.path("sys/class/drm/card1"));
  tree.write_amd_apu();
  TestRig rig(make_amdgpu_probe, tree.options(), files, "0000:64:00.0");
  ASSERT_EQ(rig.board.entities.size(), 2u);
  rig.tick();
  tree.remove("sys/class/drm/card1");
  rig.tick();
  EXPECT_EQ(rig.board.get("0000:03:00.0", "power_watts").status, SampleStatus::lost);
  EXPECT_NEAR(rig.value("power_watts"), 3.103, 1e-9);
}

TEST_F(DrmDevice, AFileMayFailAloneAndRecover) {
  TestRig rig = amd();
  files.add("gpu_busy_percent", failing(EIO, 1, 2));  // 0 is read by open()
  rig.tick();
  EXPECT_EQ(rig.status("busy_ratio"), SampleStatus::error);
  EXPECT_EQ(rig.reason("busy_ratio"), "input/output error");
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  for (int i = 0; i < 2; ++i) rig.tick();
  EXPECT_NEAR(rig.value("busy_ratio"), 0.87, 1e-12);
  EXPECT_EQ(rig.events("device_lost"), 0);
}

TEST_F(DrmDevice, AFileThatKeepsFailingIsReadLessOften) {
  TestRig rig = amd();
  files.add("gpu_busy_percent", failing(EIO));
  for (int i = 0; i < 5; ++i) rig.tick();
  const int before = files.touches("gpu_busy_percent");
  for (int i = 0; i < 9; ++i) rig.tick();
  EXPECT_EQ(files.touches("gpu_busy_percent"), before);
  rig.tick();
  EXPECT_EQ(files.touches("gpu_busy_percent"), before + 1);
  EXPECT_EQ(rig.status("busy_ratio"), SampleStatus::error);
}

TEST_F(DrmDevice, ADeniedFileIsAskedAgainAfterAMinute) {
  TestRig rig = amd();
  files.add("power1_average", failing(EPERM, 0, 1));
  rig.tick();
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::not_permitted);
  rig.tick(59);
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::not_permitted);
  rig.tick(1);
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
}

TEST_F(DrmDevice, ABusyDriverLeavesTheLastValueUntilItIsStale) {
  TestRig rig = amd();
  rig.tick();
  files.add("power1_average", failing(EBUSY));
  for (int i = 0; i < 2; ++i) {
    rig.tick();
    EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  }
  rig.tick();
  EXPECT_EQ(rig.status("power_watts"), SampleStatus::stale);
}

TEST_F(DrmDevice, SeesContentThatChanges) {
  TestRig rig = amd();
  Fault other = failing(0, 1, 1);
  other.replace = true;
  other.content = "99000000\n";
  files.add("power1_average", other);
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 99, 1e-9);
  rig.tick();
  EXPECT_NEAR(rig.value("power_watts"), 241, 1e-9);
}

TEST_F(DrmDevice, ASlowDriverIsLeftInPeaceForAWhile) {
  TestRig rig = amd();
  Fault slow;
  slow.delay_ms = 260;
  files.add("gpu_busy_percent", slow);
  for (int i = 0; i < 3; ++i) {
    rig.now_ns += kSecond;
    rig.tick(Tier::fast);
  }
  EXPECT_EQ(rig.events("source_slow"), 1);
  EXPECT_TRUE(rig.all(SampleStatus::stale));
  const int before = touches();
  rig.tick();
  EXPECT_EQ(touches(), before);
  files.clear();
  rig.tick(1000);
  EXPECT_NEAR(rig.value("busy_ratio"), 0.87, 1e-12);
  EXPECT_EQ(rig.status("energy_joules"), SampleStatus::not_supported);
}

}  // namespace
}  // namespace genscope::probe::drm
