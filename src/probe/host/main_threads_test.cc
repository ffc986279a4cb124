#include <unistd.h>

#include <thread>

#include "probe/builtin.h"
#include "probe/host/test_tree.h"
#include "probe/test_board.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::probe {
namespace {

constexpr double kThreadTick = 10'000'000;  // ns

class MainThreadTest : public ::testing::Test {
 protected:
  void put(const FakeProcess& process) { probe::put(dir_.path(), process); }
  void open() {
    ProbeOptions options;
    options.proc_root = dir_.path();
    options.pid = 10;
    probe_ = make_process_probe(options, plan_);
    ASSERT_EQ(probe_->open(board_).kind, ProbeState::Kind::works);
  }
  Reading sampled() {
    probe_->sample(Tier::normal, now_ += 1'000'000'000, board_);
    return board_.get("tree", "main_thread_cpu_ns");
  }
  int reads(const char* end) const { return plan_.touches(end); }

  genscope::testing::TempDir dir_;
  genscope::testing::FaultPlan plan_;
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
  std::int64_t now_ = 0;
};

TEST_F(MainThreadTest, IsApartFromTheOtherThreads) {
  put({.pid = 10, .user = 100, .threads = 5, .main_user = 30});
  open();
  EXPECT_EQ(sampled().value, 30 * kThreadTick);
  put({.pid = 10, .user = 400, .threads = 5, .main_user = 130});
  EXPECT_EQ(sampled().value, 130 * kThreadTick);
}

TEST_F(MainThreadTest, OfALauncherAndItsProgramIsTheProgramsAndStaysWhenItEnds) {
  put({.pid = 10, .user = 3, .main_user = 3, .children = {11}});
  put({.pid = 11, .parent = 10, .user = 200, .threads = 9, .main_user = 90});
  open();
  EXPECT_EQ(sampled().value, 90 * kThreadTick);
  put({.pid = 11, .parent = 10, .user = 400, .threads = 9, .main_user = 190});
  EXPECT_EQ(sampled().value, 190 * kThreadTick);
  probe::remove(dir_.path(), 11);
  put({.pid = 10, .user = 3, .reaped_user = 400, .main_user = 3});
  EXPECT_EQ(sampled().value, 190 * kThreadTick) << "a counter does not go back";
}

TEST_F(MainThreadTest, WhoCannotHaveOvertakenIsNotRead) {
  put({.pid = 10, .user = 50, .main_user = 50, .children = {11, 12}});
  put({.pid = 11, .parent = 10, .user = 20, .main_user = 20});
  put({.pid = 12, .parent = 10});
  open();
  EXPECT_EQ(sampled().value, 50 * kThreadTick);
  constexpr int kLook = 2;  // at the state of a thread that waits, each time: open and read
  EXPECT_GT(reads("/task/10/stat"), kLook);
  EXPECT_EQ(reads("/task/11/stat"), kLook);
  EXPECT_EQ(reads("/task/12/stat"), kLook);
  const int before = reads("/task/10/stat");
  EXPECT_EQ(sampled().value, 50 * kThreadTick);
  EXPECT_EQ(reads("/task/10/stat"), before + kLook) << "nobody used a tick";
}

TEST_F(MainThreadTest, WhatMayNotBeReadOrIsNonsenseSaysSo) {
  put({.pid = 10, .user = 50, .main_user = 50});
  plan_.add("/task/10/stat", {.error = EACCES, .on_open = true});
  open();
  EXPECT_EQ(sampled().status, SampleStatus::not_permitted);
  plan_.clear();
  plan_.add("/task/10/stat", {.replace = true, .content = "nonsense"});
  EXPECT_EQ(sampled().status, SampleStatus::error);
  plan_.clear();
  put({.pid = 10, .user = 50, .main_user = 5000});
  EXPECT_EQ(sampled().value, 50 * kThreadTick) << "a thread cannot use more than its process";
}

// The test's own threads: what another one uses is the process's and not the main thread's.
TEST(MainThread, OfThisProcessIsTheClockOfItsMainThread) {
  const auto used_ns = [](clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  std::thread([&] {
    while (used_ns(CLOCK_THREAD_CPUTIME_ID) < 2e8) {
    }
  }).join();
  TestBoard board;
  const auto probe = make_process_probe({}, base::Files::system());
  ASSERT_EQ(probe->open(board).kind, ProbeState::Kind::works);
  const double before = used_ns(CLOCK_THREAD_CPUTIME_ID);
  probe->sample(Tier::normal, 1, board);
  const Reading main = board.get("tree", "main_thread_cpu_ns");
  ASSERT_EQ(main.status, SampleStatus::ok);
  EXPECT_GE(main.value, before - 3 * kThreadTick) << "whole ticks, user and system each";
  EXPECT_LE(main.value, used_ns(CLOCK_THREAD_CPUTIME_ID) + 3 * kThreadTick);
  EXPECT_GE(board.get("tree", "cpu_ns").value, main.value + 1e8);
}

}  // namespace
}  // namespace genscope::probe
