#include "cli/top/frame.h"

#include <gtest/gtest.h>

#include "cli/top/test_frame.h"

namespace genscope::cli::top {
namespace {

TEST(TopFrame, MergesTheListsOfTreeAndGpusByPid) {
  Frame frame = usual_frame().frame;
  Tracker().complete(frame);
  ASSERT_EQ(frame.processes.size(), 3u);
  const ProcessLine& python = frame.processes[0];
  EXPECT_EQ(python.row.pid, 4300u);
  EXPECT_TRUE(python.in_tree);
  EXPECT_EQ(python.row.rss_bytes.value, 2 * kGiB);
  EXPECT_EQ(python.row.gpu_memory_bytes.value, 20 * kGiB);
  const ProcessLine& stranger = frame.processes[2];
  EXPECT_EQ(stranger.row.pid, 99u);
  EXPECT_FALSE(stranger.in_tree);
  EXPECT_EQ(why(stranger.row.rss_bytes), "not in the watched tree");
  EXPECT_EQ(why(stranger.row.gpu_memory_bytes), "not permitted");
  EXPECT_EQ(why(frame.processes[1].row.gpu_memory_bytes), "on no GPU that lists it");
}

TEST(TopFrame, OfTheMachineTheBusiestAreShownBesideTreeAndGpus) {
  const auto frame_at = [](std::int64_t at_ns, double each_ns) {
    Frame frame = usual_frame().frame;
    for (std::uint32_t pid = 5000; pid < 5040; ++pid) {
      ProcessRow row = FrameBuilder::row(pid, "busy");
      row.cpu_ns = FrameBuilder::ok(each_ns * (pid - 4999), at_ns);
      row.rss_bytes = FrameBuilder::ok(6000 - pid);
      frame.machine.push_back(row);
    }
    return frame;
  };
  Tracker tracker;
  Frame first = frame_at(1'000'000'000, 0);
  tracker.complete(first);
  Frame frame = frame_at(2'000'000'000, 1e7);
  tracker.complete(frame);
  ASSERT_EQ(frame.processes.size(), 3 + Frame::kBusiest);
  EXPECT_EQ(frame.processes[0].row.pid, 5039u) << "40 times 10 ms in a second";
  EXPECT_DOUBLE_EQ(frame.processes[0].cpu_cores.value, 0.4);
  sort_processes(frame.processes, ProcessOrder::memory);
  EXPECT_EQ(frame.processes[0].row.pid, 4300u) << "2 GiB";
  EXPECT_EQ(frame.processes.back().row.pid, 99u) << "its memory is not known";
}

TEST(TopFrame, MemoryAddsUpOverGpusAndBusyIsOfTheBusiest) {
  FrameBuilder made;
  for (const double share : {0.25, 0.75, 0.5}) {
    const auto gpu = made.entity(EntityKind::gpu, std::to_string(share), "");
    ProcessRow row = FrameBuilder::row(7, "a");
    row.gpu_memory_bytes = FrameBuilder::ok(100);
    row.gpu_busy_ratio = FrameBuilder::ok(share);
    made.processes(gpu, {row});
  }
  Tracker().complete(made.frame);
  ASSERT_EQ(made.frame.processes.size(), 1u);
  EXPECT_EQ(made.frame.processes[0].row.gpu_memory_bytes.value, 300);
  EXPECT_EQ(made.frame.processes[0].row.gpu_busy_ratio.value, 0.75);
}

TEST(TopFrame, CpuNeedsTwoFramesOfTheSameProcess) {
  const auto frame_at = [](std::int64_t at_ns, double cpu_ns, std::uint64_t start) {
    FrameBuilder made;
    const auto tree = made.entity(EntityKind::process_tree, "tree", "");
    ProcessRow row = FrameBuilder::row(7, "a");
    row.start = start;
    row.cpu_ns = FrameBuilder::ok(cpu_ns, at_ns);
    made.processes(tree, {row});
    return made.frame;
  };
  Tracker tracker;
  Frame first = frame_at(1'000'000'000, 5e9, 1);
  tracker.complete(first);
  EXPECT_EQ(first.processes[0].cpu_cores.status, SampleStatus::pending);
  Frame second = frame_at(3'000'000'000, 8e9, 1);
  tracker.complete(second);
  EXPECT_EQ(second.processes[0].cpu_cores.status, SampleStatus::ok);
  EXPECT_DOUBLE_EQ(second.processes[0].cpu_cores.value, 1.5);
  Frame reused = frame_at(4'000'000'000, 9e9, 2);  // another process under the same pid
  tracker.complete(reused);
  EXPECT_EQ(reused.processes[0].cpu_cores.status, SampleStatus::pending);
}

TEST(TopFrame, KeepsTrailsOfTheMachineAndOfGpus) {
  Tracker tracker;
  Frame frame = usual_frame().frame;
  tracker.complete(frame);
  tracker.complete(frame);
  EXPECT_EQ(frame.trails.at("machinecpu_busy_ratio").size(), 2u);
  EXPECT_EQ(frame.trails.at("GPU-1busy_ratio").size(), 2u);
}

TEST(TopFrame, SaysWhyAValueIsMissing) {
  EXPECT_EQ(why({0, SampleStatus::not_supported, nullptr, 0}), "not supported");
  EXPECT_EQ(why({0, SampleStatus::lost, "fell off the bus", 0}), "fell off the bus");
}

}  // namespace
}  // namespace genscope::cli::top
