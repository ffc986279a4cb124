#include "probe/nvidia/process_list.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>

#include "probe/nvidia/test_rig.h"

namespace genscope::probe::nvml {
namespace {

std::vector<unsigned char> written(std::size_t entries, std::size_t stride, std::size_t room = 64) {
  std::vector<unsigned char> buffer(room * kStrideEarly535, kPoison);
  for (std::size_t i = 0; i < entries; ++i) {
    const auto pid = static_cast<std::uint32_t>(100 + i);
    std::memcpy(buffer.data() + i * stride, &pid, sizeof pid);
    std::memset(buffer.data() + i * stride + 8, 0xFF, stride - 8);
  }
  return buffer;
}

TEST(NvmlStride, IsReadOffTheBytesThatChanged) {
  for (std::size_t entries = 1; entries <= 64; ++entries) {
    EXPECT_EQ(stride_of(written(entries, 24), entries), 24u) << entries;
    EXPECT_EQ(stride_of(written(entries, 32), entries), 32u) << entries;
  }
}

TEST(NvmlStride, AcceptsNothingElse) {
  EXPECT_EQ(stride_of(written(3, 24), 0), 0u);
  EXPECT_EQ(stride_of(written(0, 24), 3), 0u);
  EXPECT_EQ(stride_of(written(4, 40, 100), 4), 0u);
  EXPECT_EQ(stride_of(written(3, 16), 3), 0u);
  EXPECT_EQ(stride_of(written(3, 24), 65), 0u);
}

constexpr const char* kThree =
    "0 processes.compute 301/1048576/-1/-1,302/2097152/-1/-1,303/4194304/-1/-1\n";

TEST(NvmlProcesses, AreReadFromEveryDriver) {
  for (const int level : {450, 470, 510, 535, 550, 580}) {
    TestRig rig(healthy(1, kThree), level);
    rig.open();
    rig.run_to(10);
    const std::vector<ProcessRow>& rows = rig.processes(gpu_id(0));
    ASSERT_EQ(rows.size(), 3u) << level;
    EXPECT_EQ(rows[0].pid, 303u) << level;
    EXPECT_EQ(rows[0].gpu_memory_bytes.value, 4194304) << level;
    EXPECT_EQ(rows[1].pid, 302u) << level;
    EXPECT_EQ(rows[2].pid, 301u) << level;
    EXPECT_EQ(rows[2].gpu_memory_bytes.value, 1048576) << level;
  }
}

TEST(NvmlProcesses, ListsAreMergedByPidAndUnknownMemoryIsSaid) {
  TestRig rig(healthy(1,
                      "0 processes.compute 301/1000,302/-1\n"
                      "0 processes.graphics 301/3000,304/50\n0 processes.mps 301/2000\n"));
  rig.open();
  const std::vector<ProcessRow>& rows = rig.processes(gpu_id(0));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].pid, 301u);
  EXPECT_EQ(rows[0].gpu_memory_bytes.value, 3000) << "the lists overlap: not the sum";
  EXPECT_EQ(rows[1].pid, 304u);
  EXPECT_EQ(rows[2].pid, 302u);
  EXPECT_EQ(rows[2].gpu_memory_bytes.status, SampleStatus::not_supported);
}

TEST(NvmlProcesses, OneInSeveralInstancesIsOneRow) {
  TestRig rig(healthy(1, "0 processes.compute 301/1000/1/0,301/500/2/0\n"));
  rig.open();
  ASSERT_EQ(rig.processes(gpu_id(0)).size(), 1u);
  EXPECT_EQ(rig.processes(gpu_id(0))[0].gpu_memory_bytes.value, 1500);
}

TEST(NvmlProcesses, HaveNamesWhereTheyAreVisible) {
  TestRig rig(healthy(1, kThree));
  rig.write("proc/302/stat",
            "302 (my (odd) name) S 77 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0\n");
  rig.write("proc/303/stat", "garbage");
  rig.open();
  const std::vector<ProcessRow>& rows = rig.processes(gpu_id(0));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_STREQ(rows[1].name, "my (odd) name");
  EXPECT_EQ(rows[1].parent, 77u);
  EXPECT_EQ(rows[1].start, 123456u);
  EXPECT_TRUE(rows[1].visible);
  EXPECT_FALSE(rows[0].visible);
  EXPECT_FALSE(rows[2].visible);
}

TEST(NvmlProcesses, MemoryOfTheWatchedTreeIsAddedUp) {
  TestRig rig(healthy(1, kThree));
  rig.options.pid = 300;
  const auto stat = [](const char* pid, const char* parent) {
    return std::string(pid) + " (x) S " + parent + " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n";
  };
  rig.write("proc/301/stat", stat("301", "300"));
  rig.write("proc/299/stat", stat("299", "301"));  // a grandchild without a GPU
  rig.write("proc/302/stat", stat("302", "299"));
  rig.write("proc/303/stat", stat("303", "1"));
  rig.open();
  rig.run_to(10);
  EXPECT_EQ(rig.board.get(gpu_id(0), "tree_memory_bytes").value, 1048576 + 2097152);
}

TEST(NvmlProcesses, MemoryOfATreeThatMayBeHiddenIsUnknownNotZero) {
  TestRig rig(healthy(1, kThree));  // as in a container: host pids that /proc does not have
  rig.options.pid = 300;
  rig.open();
  rig.run_to(10);
  EXPECT_EQ(rig.board.get(gpu_id(0), "tree_memory_bytes").status, SampleStatus::absent);
  EXPECT_STREQ(rig.board.get(gpu_id(0), "tree_memory_bytes").reason,
               "the driver names processes that we cannot see");
  TestRig idle(healthy(1));
  idle.options.pid = 300;
  idle.open();
  idle.run_to(10);
  const Reading none = idle.board.get(gpu_id(0), "tree_memory_bytes");
  EXPECT_EQ(none.status, SampleStatus::ok);
  EXPECT_EQ(none.value, 0) << "nobody uses it: that is known";
}

TEST(NvmlProcesses, AListThatGrowsIsAskedForAgain) {
  TestRig rig(healthy(1, std::string(kThree) + "0 processes.compute.grow 100\n"));
  rig.open();       // 3 of 64
  rig.run_to(5.1);  // 103, and 203 by the time of the second call
  EXPECT_EQ(rig.processes(gpu_id(0)).size(), kMaxProcessRows);
  EXPECT_EQ(rig.calls("nvmlDeviceGetComputeRunningProcesses_v3"), 3u);
}

TEST(NvmlProcesses, AListThatOutgrowsEverythingIsGivenUp) {
  TestRig rig(healthy(1, std::string(kThree) +
                             "0 processes.compute.grow 10000\n0 processes.graphics! 3\n"
                             "0 processes.mps! 3\n"));
  rig.open();
  const std::uint64_t before = rig.calls("nvmlDeviceGetComputeRunningProcesses_v3");
  rig.run_to(5.1);
  EXPECT_LE(rig.calls("nvmlDeviceGetComputeRunningProcesses_v3") - before, 3u);
  rig.run_to(40);
  EXPECT_EQ(rig.events("source_degraded"), 1);
}

TEST(NvmlProcesses, APidThatCannotBeIsNotBelieved) {
  TestRig rig(healthy(1, "0 processes.compute 301/1000,4000000000/5\n"));
  rig.open();
  for (const ProcessRow& row : rig.processes(gpu_id(0))) EXPECT_LE(row.pid, 4'194'304u);
}

TEST(NvmlProcesses, UseIsOfTheNewestSample) {
  TestRig rig(healthy(1, std::string(kThree) + "0 use 0:301/40,302/400,303/10/0 6:301/70\n"));
  rig.open();
  const auto busy = [&](std::uint32_t pid) {
    for (const ProcessRow& row : rig.processes(gpu_id(0))) {
      if (row.pid == pid) return row.gpu_busy_ratio;
    }
    return Reading{};
  };
  EXPECT_DOUBLE_EQ(busy(301).value, 0.4);
  EXPECT_EQ(busy(302).value, 0) << "400 % is no figure of this window";
  rig.run_to(10);
  EXPECT_DOUBLE_EQ(busy(301).value, 0.7);
  EXPECT_EQ(busy(303).status, SampleStatus::ok);
  EXPECT_EQ(busy(303).value, 0) << "not listed after a success: it did nothing";
}

TEST(NvmlProcesses, UseThatTheDriverDoesNotTellIsNotZero) {
  TestRig rig(healthy(1, kThree));
  rig.open();
  EXPECT_EQ(rig.processes(gpu_id(0))[0].gpu_busy_ratio.status, SampleStatus::not_supported);
  TestRig quiet(healthy(1, std::string(kThree) + "0 use 301/40/0\n"));
  quiet.open();
  quiet.run_to(10);  // nothing new since the first reading
  EXPECT_EQ(quiet.processes(gpu_id(0))[0].gpu_busy_ratio.status, SampleStatus::pending);
}

}  // namespace
}  // namespace genscope::probe::nvml
