// What processes hold and use, as their fdinfo says: from the tree to the rows.
#include "probe/drm/processes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "probe/drm/clients.h"
#include "probe/drm/test_rig.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

#if defined(__SANITIZE_ADDRESS__)
// g++ 12 comes without sanitizer/allocator_interface.h.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                           std::size_t),
                                                         void (*on_free)(const volatile void*));
#endif

namespace genscope::probe::drm {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

std::string amd_client(int id, std::uint64_t vram_kib, std::uint64_t gfx_ns,
                       std::uint64_t compute_ns, const char* pdev = "0000:03:00.0") {
  return "drm-driver:\tamdgpu\ndrm-client-id:\t" + std::to_string(id) + "\ndrm-pdev:\t" + pdev +
         "\ndrm-memory-vram:\t" + std::to_string(vram_kib) + " KiB\ndrm-memory-gtt:\t512 KiB\n" +
         "drm-engine-gfx:\t" + std::to_string(gfx_ns) + " ns\ndrm-engine-compute:\t" +
         std::to_string(compute_ns) + " ns\n";
}

std::string xe_client(int id, std::uint64_t ccs, std::uint64_t total) {
  return "drm-driver:\txe\ndrm-client-id:\t" + std::to_string(id) +
         "\ndrm-pdev:\t0000:09:00.0\ndrm-resident-vram0:\t16 MiB\ndrm-resident-gtt:\t1 MiB\n"
         "drm-cycles-ccs:\t" +
         std::to_string(ccs) + "\ndrm-total-cycles-ccs:\t" + std::to_string(total) +
         "\ndrm-engine-capacity-ccs:\t2\n";
}

struct DrmProcesses : ::testing::Test {
  TestRig amd() { return TestRig(make_amdgpu_probe, options, files, "0000:03:00.0"); }
  TestRig intel() { return TestRig(make_intel_probe, options, files, "0000:09:00.0"); }

  testing::TempDir dir;
  TestTree tree{dir.path()};
  ProbeOptions options = tree.options();
  testing::FaultPlan files;
};

TEST_F(DrmProcesses, AddsUpTheTreeAndCountsAClientOnce) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python", "101 102");
  tree.write_process(101, 100, "a (b) c");
  tree.write_process(102, 100, "idle", "103");
  tree.write_process(103, 102, "worker");
  tree.write_process(200, 1, "somebody");
  tree.write_fdinfo(100, 5, amd_client(7, 2048, 0, 0));
  tree.write_fdinfo(100, 6, amd_client(7, 2048, 0, 0));  // the same client by another number
  tree.write_fdinfo(101, 5, amd_client(7, 2048, 0, 0));  // and inherited by a child
  tree.write_fdinfo(101, 9, amd_client(8, 1024, 0, 0));
  tree.write_fdinfo(103, 4, amd_client(9, 512, 0, 0));
  tree.write_fdinfo(103, 5, "pos:\t0\nflags:\t02\n");                   // a plain file
  tree.write_fdinfo(103, 6, amd_client(9, 999, 0, 0, "0000:77:00.0"));  // another GPU
  tree.write_fdinfo(200, 5, amd_client(70, 4096, 0, 0));                // outside the tree
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), (2048 + 1024 + 512) * 1024);
  EXPECT_EQ(rig.status("tree_busy_ratio"), SampleStatus::pending);
  const auto& rows = rig.board.processes.at(0);
  ASSERT_EQ(rows.size(), 3u);
  const auto row = [&](std::uint32_t pid) {
    return *std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.pid == pid; });
  };
  EXPECT_EQ(row(103).gpu_memory_bytes.value, 512 * 1024);
  EXPECT_EQ(row(103).parent, 102u);
  EXPECT_EQ(row(103).start, 1030u);
  EXPECT_STREQ(row(103).name, "worker");
  EXPECT_STREQ(row(101).name, "a (b) c");
  EXPECT_EQ(rows[0].gpu_memory_bytes.value, 2 * kMiB) << "the largest first";
}

TEST_F(DrmProcesses, DerivesBusyFromEngineTime) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python", "101");
  tree.write_process(101, 100, "worker");
  tree.write_fdinfo(100, 5, amd_client(7, 1024, 1000, 500'000'000));
  tree.write_fdinfo(101, 5, amd_client(8, 1024, 0, 0));
  TestRig rig = amd();
  rig.tick();
  tree.write_fdinfo(100, 5, amd_client(7, 1024, 1000, 750'000'000));
  tree.write_fdinfo(101, 5, amd_client(8, 1024, 100'000'000, 500'000'000));
  rig.tick();
  EXPECT_NEAR(rig.value("tree_busy_ratio"), 0.75, 1e-9) << "compute: 0.25 and 0.5 of a second";
  const auto& rows = rig.board.processes.at(0);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(rows[0].gpu_busy_ratio.value, 0.25, 1e-9);
  EXPECT_NEAR(rows[1].gpu_busy_ratio.value, 0.5, 1e-9);
}

TEST_F(DrmProcesses, ACounterThatStepsBackIsNotBusy) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python");
  TestRig rig = amd();
  const auto tick = [&](std::uint64_t ns) {
    tree.write_fdinfo(100, 5, amd_client(7, 1024, ns, 0));
    rig.tick();
    return rig.get("tree_busy_ratio");
  };
  tick(900'000'000);
  tick(1'000'000'000);
  EXPECT_NEAR(tick(1'500'000'000).value, 0.5, 1e-9);
  EXPECT_EQ(tick(1'400'000'000).value, 0);
  EXPECT_NEAR(tick(1'600'000'000).value, 0.1, 1e-9) << "from the highest that was seen";
}

TEST_F(DrmProcesses, IntelIsAsBusyAsTheProcessesWeSee) {
  tree.write_xe();
  tree.write_process(100, 1, "python");
  tree.write_process(300, 1, "game");
  tree.write_fdinfo(100, 5, xe_client(3, 1000, 10000));
  tree.write_fdinfo(300, 5, xe_client(4, 1000, 10000));
  TestRig rig = intel();
  rig.tick();
  EXPECT_EQ(rig.status("busy_ratio"), SampleStatus::pending);
  EXPECT_EQ(rig.value("tree_memory_bytes"), 16 * kMiB) << "VRAM, not what it maps besides";
  tree.write_fdinfo(100, 5, xe_client(3, 1500, 11000));
  tree.write_fdinfo(300, 5, xe_client(4, 1200, 11000));
  rig.tick();
  EXPECT_NEAR(rig.value("tree_busy_ratio"), 0.25, 1e-9) << "500 of 1000 cycles of two engines";
  EXPECT_NEAR(rig.value("busy_ratio"), 0.35, 1e-9);
  EXPECT_TRUE(rig.source("busy_ratio").starts_with("fdinfo of the processes we may read"));
  EXPECT_EQ(rig.board.processes.at(0).size(), 2u);
}

TEST_F(DrmProcesses, SharedMemoryCountsWhereItIsAllThereIs) {
  tree.write_amd_apu();
  tree.write_process(100, 1, "python");
  tree.write_fdinfo(100, 5, amd_client(1, 1024, 0, 0, "0000:64:00.0"));
  TestRig rig(make_amdgpu_probe, options, files, "0000:64:00.0");
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), (1024 + 512) * 1024);
}

TEST_F(DrmProcesses, ATreeWithoutClientsHoldsNothing) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python");
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), 0);
  EXPECT_EQ(rig.value("tree_busy_ratio"), 0);
}

TEST_F(DrmProcesses, SaysWhenTheTreeIsNotThere) {
  tree.write_amd_discrete();
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.status("tree_memory_bytes"), SampleStatus::absent);
  EXPECT_EQ(rig.status("tree_busy_ratio"), SampleStatus::absent);
}

TEST_F(DrmProcesses, NewProcessesAreFoundAndOldOnesForgotten) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python");
  TestRig rig = amd();
  rig.tick();
  tree.write_process(100, 1, "python", "105");
  tree.write_process(105, 100, "late");
  tree.write_fdinfo(105, 3, amd_client(1, 1024, 0, 0));
  rig.tick();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), kMiB);
  tree.remove("proc/105");
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), 0);
  EXPECT_TRUE(rig.board.processes.at(0).empty());
}

TEST_F(DrmProcesses, DoesNotAskAboutFilesThatAreNoGpus) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python");
  tree.write_fdinfo(100, 5, amd_client(1, 1024, 0, 0));
  tree.write_fdinfo(100, 6, "pos:\t0\n");
  tree.link("proc/100/fd/5", "/dev/dri/renderD128");
  tree.link("proc/100/fd/6", "/var/log/messages");
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), kMiB);
  EXPECT_EQ(files.touches("fdinfo/6"), 0);
}

TEST_F(DrmProcesses, DoesNotAskAboutAGpuThatSleeps) {
  tree.write_xe();
  tree.write_process(100, 1, "python");
  tree.write_fdinfo(100, 5, xe_client(3, 1000, 10000));
  tree.link("proc/100/fd/5", "/dev/dri/card0");
  TestRig rig = intel();
  rig.tick();
  tree.write(tree.device("power/runtime_status"), "suspended\n");
  const int before = files.touches("fdinfo/5");
  for (int i = 0; i < 3; ++i) rig.tick();
  EXPECT_EQ(files.touches("fdinfo/5"), before) << "xe may wake to answer";
  EXPECT_EQ(rig.status("tree_memory_bytes"), SampleStatus::suspended);
}

TEST_F(DrmProcesses, SurvivesARingAndGarbage) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python", "101 x -1 99999999999 101\n");
  tree.write_process(101, 100, "worker", "100");
  tree.write("proc/101/stat", "101 (no end");
  tree.write_fdinfo(101, 3, amd_client(1, 1024, 0, 0));
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), kMiB);
  EXPECT_STREQ(rig.board.processes.at(0)[0].name, "?");
}

TEST_F(DrmProcesses, WatchesOnlyTheRootWhenToldSo) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python", "101");
  tree.write_process(101, 100, "worker");
  tree.write_fdinfo(101, 3, amd_client(1, 1024, 0, 0));
  options.children = false;
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), 0);
}

TEST_F(DrmProcesses, ManyFilesAreCappedNotFatal) {
  tree.write_amd_discrete();
  tree.write_process(100, 1, "python");
  const int count = static_cast<int>(Processes::kMaxFiles) + 20;
  for (int i = 0; i < count; ++i) tree.write_fdinfo(100, i, amd_client(i, 1, 0, 0));
  TestRig rig = amd();
  rig.tick();
  EXPECT_EQ(rig.value("tree_memory_bytes"), 1024.0 * Processes::kMaxFiles);
}

#if defined(__SANITIZE_ADDRESS__)
thread_local bool counting = false;
thread_local int allocations = 0;

TEST_F(DrmProcesses, SamplingDoesNotAllocate) {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t) { allocations += counting; },
      [](const volatile void*) {});
  ASSERT_GT(installed, 0);
  tree.write_xe();
  tree.write_process(100, 1, "python", "101");
  tree.write_process(101, 100, "worker");
  tree.write_fdinfo(100, 5, xe_client(3, 1000, 10000));
  tree.write_fdinfo(101, 5, xe_client(4, 1000, 10000));
  TestRig rig(make_intel_probe, options, base::Files::system(), "0000:09:00.0");
  rig.tick();
  counting = true;
  for (int i = 0; i < 3; ++i) rig.tick();
  counting = false;
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(rig.value("tree_memory_bytes"), 32 * kMiB);
}
#endif

}  // namespace
}  // namespace genscope::probe::drm
