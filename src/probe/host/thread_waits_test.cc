#include <unistd.h>

#include "probe/builtin.h"
#include "probe/host/test_tree.h"
#include "probe/host/thread_waits.h"
#include "probe/test_board.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::probe {
namespace {

class ThreadWaitsTest : public ::testing::Test {
 protected:
  void put(const FakeProcess& process) { probe::put(dir_.path(), process); }
  void put_thread(std::uint32_t pid, std::uint32_t tid, const std::string& schedstat) {
    probe::put(dir_ / (std::to_string(pid) + "/task/" + std::to_string(tid) + "/schedstat"),
               schedstat);
  }
  void open() {
    ProbeOptions options;
    options.proc_root = dir_.path();
    options.pid = 10;
    probe_ = make_process_probe(options, plan_);
    ASSERT_EQ(probe_->open(board_).kind, ProbeState::Kind::works);
  }
  Reading sampled(std::string_view metric, Tier tier = Tier::normal) {
    probe_->sample(tier, now_ += 1'000'000'000, board_);
    return board_.get("tree", metric);
  }

  genscope::testing::TempDir dir_;
  genscope::testing::FaultPlan plan_;
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
  std::int64_t now_ = 0;
};

TEST_F(ThreadWaitsTest, AddUpOverThreadsAndProcessesAndStayWhenTheyEnd) {
  put({.pid = 10, .threads = 2, .ran_ns = 500, .waited_ns = 7, .children = {11}});
  put_thread(10, 20, "900 100 5\n");
  put({.pid = 11, .parent = 10, .ran_ns = 300, .waited_ns = 1000});
  open();
  EXPECT_EQ(sampled("cpu_wait_ns").value, 1107);
  std::filesystem::remove_all(dir_ / "10/task/20");
  probe::remove(dir_.path(), 11);
  put({.pid = 10, .threads = 1, .ran_ns = 600, .waited_ns = 8});
  EXPECT_EQ(sampled("cpu_wait_ns").value, 1108) << "a counter does not go back";
  put({.pid = 10, .threads = 2, .ran_ns = 600, .waited_ns = 8});
  put_thread(10, 20, "90 3 5\n");  // another thread with the same number
  EXPECT_EQ(sampled("cpu_wait_ns").value, 1111);
}

TEST_F(ThreadWaitsTest, ThreadsThatUsedACpuAreToldWithWhatTheyDid) {
  const auto told = [&] {
    std::vector<std::string> details;
    for (const auto& event : board_.events) {
      if (event.name == "thread") details.push_back(event.detail);
    }
    return details;
  };
  put({.pid = 10, .name = "boss", .threads = 2, .ran_ns = 1'000'000});
  put_thread(10, 20, "1000 0 5\n");
  open();
  sampled("cpu_wait_ns");
  EXPECT_TRUE(told().empty()) << "nothing is known of a thread that was seen once";
  put_thread(10, 20, "700000000 100000000 5\n");
  sampled("cpu_wait_ns");
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].substr(0, 42), "10 20 1000000000 699999000 100000000 0 0 ");
  put_thread(10, 20, "750000000 100000000 5\n");
  sampled("cpu_wait_ns");
  EXPECT_EQ(told().size(), 1u) << "not again for a little more";
  std::filesystem::remove_all(dir_ / "10/task/20");
  put({.pid = 10, .name = "boss", .threads = 1, .ran_ns = 1'000'000});
  sampled("cpu_wait_ns");
  ASSERT_EQ(told().size(), 2u);
  EXPECT_EQ(told()[1].substr(0, 32), "10 20 2000000000 749999000 10000");
}

TEST_F(ThreadWaitsTest, AreAbsentWhereTheKernelDoesNotCount) {
  put({.pid = 10, .ran_ns = 0});
  open();
  const Reading zeros = sampled("cpu_wait_ns");
  EXPECT_EQ(zeros.status, SampleStatus::not_supported);
  EXPECT_NE(zeros.reason, nullptr);
  std::filesystem::remove(dir_ / "10/task/10/schedstat");
  EXPECT_EQ(sampled("cpu_wait_ns").status, SampleStatus::not_supported);
  put_thread(10, 10, "garbage");
  EXPECT_EQ(sampled("cpu_wait_ns").status, SampleStatus::error);
}

TEST_F(ThreadWaitsTest, OfMoreThreadsThanAreReadAreAbsent) {
  put({.pid = 10, .threads = ThreadWaits::kMostThreads + 1});
  open();
  EXPECT_EQ(sampled("cpu_wait_ns").status, SampleStatus::not_supported);
  EXPECT_EQ(plan_.touches("/schedstat"), 0);
}

TEST_F(ThreadWaitsTest, StorageIsWaitedForInTheStateD) {
  put({.pid = 10, .state = 'S', .children = {11}});
  put({.pid = 11, .parent = 10, .state = 'D'});
  open();
  EXPECT_EQ(sampled("storage_wait", Tier::fast).value, 1);
  EXPECT_EQ(board_.get("tree", "asleep").value, 1);
  put({.pid = 11, .parent = 10, .state = 'R'});
  EXPECT_EQ(sampled("storage_wait", Tier::fast).value, 0);
  EXPECT_EQ(board_.get("tree", "asleep").value, 0);
  put({.pid = 11, .parent = 10, .state = 'S'});
  EXPECT_EQ(sampled("asleep", Tier::fast).value, 1);
  put({.pid = 11, .parent = 10, .state = 'Z', .pages = 0, .resident = 0, .shared = 0});
  put({.pid = 10, .state = 'Z', .pages = 0, .resident = 0, .shared = 0});
  EXPECT_EQ(sampled("storage_wait", Tier::fast).status, SampleStatus::lost);
}

}  // namespace
}  // namespace genscope::probe
