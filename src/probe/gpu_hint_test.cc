#include "probe/gpu_hint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probe/test_board.h"
#include "probe/wire.h"
#include "testing/temp_dir.h"
#include "testing/units.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

using testing::kSecond;

struct GpuHintTest : ::testing::Test {
  GpuHintTest() {
    options.proc_root = dir / "proc";
    options.sys_root = dir / "sys";
    roots.dev = dir / "dev";
    write("proc/bus/pci/devices", "0000\t80861237\t0\t0\n0018\t1af41041\tb\t0\t0\n");
  }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path(dir / name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void add_card(const std::string& vendor) const {
    write("sys/class/drm/card0/device/vendor", vendor + "\n");
    write("sys/class/drm/card0/device/device", "0x744c\n");
  }
  ProbeState::Kind hint(std::string_view probe) {
    return gpu_hint(probe, options, base::Files::system(), roots).kind;
  }

  testing::TempDir dir;
  ProbeOptions options;
  GpuHintRoots roots;
  static constexpr auto kAbsent = ProbeState::Kind::absent;
  static constexpr auto kWorks = ProbeState::Kind::works;
};

TEST_F(GpuHintTest, NothingThereIsAbsentWithAReason) {
  for (const char* const probe : {"nvml", "amdgpu", "intel"}) {
    const ProbeState state = gpu_hint(probe, options, base::Files::system(), roots);
    EXPECT_EQ(state.kind, kAbsent) << probe;
    EXPECT_NE(state.reason, "") << probe;
  }
}

TEST_F(GpuHintTest, EachSignOfAnNvidiaGpuIsEnough) {
  for (const char* const node : {"nvidiactl", "nvidia0", "dxg", "nvhost-gpu"}) {
    write(std::string("dev/") + node, "");
    EXPECT_EQ(hint("nvml"), kWorks) << node;
    std::filesystem::remove_all(dir / "dev");
    EXPECT_EQ(hint("nvml"), kAbsent);
  }
  write("proc/bus/pci/devices", "0000\t80861237\t0\n0100\t10de2330\t10\t0\tnvidia\n");
  EXPECT_EQ(hint("nvml"), kWorks);
  write("proc/bus/pci/devices", "");
  options.nvml_library = "/some/libnvidia-ml.so.1";
  EXPECT_EQ(hint("nvml"), kWorks);
}

TEST_F(GpuHintTest, OnlyAnNvidiaVendorCounts) {
  // 10de as a device, or in another column, is none.
  write("proc/bus/pci/devices", "10de\t808610de\t10de\t0\n");
  EXPECT_EQ(hint("nvml"), kAbsent);
  std::filesystem::remove_all(dir / "proc");
  EXPECT_EQ(hint("nvml"), kAbsent) << "without the list, device files decide";
}

TEST_F(GpuHintTest, ACardCountsForItsVendor) {
  add_card("0x1002");
  EXPECT_EQ(hint("amdgpu"), kWorks);
  EXPECT_EQ(hint("intel"), kAbsent);
  add_card("0x8086");
  EXPECT_EQ(hint("amdgpu"), kAbsent);
  EXPECT_EQ(hint("intel"), kWorks);
  add_card("0x1af4");  // a virtual machine's
  EXPECT_EQ(hint("intel"), kAbsent);
}

TEST_F(GpuHintTest, AProbeThatItDoesNotKnowMayFindSomething) { EXPECT_EQ(hint("new"), kWorks); }

TEST_F(GpuHintTest, TheProcessIsStartedOnlyOnceThereIsAGpu) {
  WireWriter writer;
  writer.add_state("amdgpu", {ProbeState::Kind::works, "", ""});
  std::ofstream(dir / "words") << writer.out();
  const std::string ran = dir / "ran";
  const auto probe = make_remote_gpu_probe(
      {"nvml", "amdgpu"}, options,
      {"/bin/sh", "-c", "touch " + ran + "; cat " + (dir / "words") + "; sleep 60"}, 20 * kSecond,
      roots);
  TestBoard board;
  const ProbeState none = probe->open(board);
  EXPECT_EQ(none.kind, kAbsent);
  EXPECT_NE(none.reason.find("nvml: no NVIDIA GPU"), std::string::npos) << none.reason;
  EXPECT_NE(none.reason.find("amdgpu: no AMD GPU"), std::string::npos) << none.reason;
  add_card("0x1002");
  std::int64_t now = kSecond;
  int looks = 0;
  for (; now < 61 * kSecond; now += 5 * kSecond) {
    for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow}) probe->sample(tier, now, board);
    if (!probe->wants_rescan()) continue;
    ++looks;
    EXPECT_EQ(probe->open(board).kind, kWorks);
  }
  EXPECT_EQ(looks, 1) << "it runs since the first look";
  EXPECT_TRUE(std::filesystem::exists(ran));
}

}  // namespace
}  // namespace genscope::probe
