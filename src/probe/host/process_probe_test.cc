#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

#include "probe/builtin.h"
#include "probe/host/test_tree.h"
#include "probe/test_board.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::probe {
namespace {

constexpr double kProcessTick = 10'000'000;  // ns
const double kPage = static_cast<double>(::sysconf(_SC_PAGESIZE));

class ProcessProbeTest : public ::testing::Test {
 protected:
  ProbeState open(std::int32_t pid = 10) {
    ProbeOptions options;
    options.proc_root = dir_.path();
    options.pid = pid;
    options.children = children_;
    probe_ = make_process_probe(options, plan_);
    return probe_->open(board_);
  }
  void put(const FakeProcess& process) { probe::put(dir_.path(), process); }
  void vanish(std::uint32_t pid) { probe::remove(dir_.path(), pid); }
  void sample(Tier tier) { probe_->sample(tier, now_ += 100'000'000, board_); }
  Reading get(std::string_view metric) const { return board_.get("tree", metric); }
  double value(std::string_view metric) const {
    const Reading reading = get(metric);
    EXPECT_EQ(reading.status, SampleStatus::ok) << metric;
    return reading.value;
  }
  int events(std::string_view name) const {
    return static_cast<int>(std::count_if(board_.events.begin(), board_.events.end(),
                                          [&](const auto& e) { return e.name == name; }));
  }

  genscope::testing::TempDir dir_;
  genscope::testing::FaultPlan plan_;
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
  bool children_ = true;
  std::int64_t now_ = 0;
};

TEST_F(ProcessProbeTest, AddsUpTheTree) {
  put({.pid = 10,
       .user = 5,
       .system = 2,
       .reaped_user = 3,
       .minor = 7,
       .reaped_minor = 1,
       .threads = 3,
       .resident = 100,
       .shared = 30,
       .read_bytes = 512,
       .children = {11}});
  put({.pid = 11,
       .parent = 10,
       .user = 4,
       .minor = 2,
       .major = 1,
       .resident = 50,
       .shared = 10,
       .write_bytes = 4096,
       .children = {12}});
  put({.pid = 12, .parent = 11, .system = 1, .resident = 5, .shared = 5});
  put({.pid = 13, .parent = 1, .user = 100});  // a stranger
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  sample(Tier::fast);
  EXPECT_EQ(value("cpu_ns"), 15 * kProcessTick);
  EXPECT_EQ(value("rss_bytes"), 155 * kPage);
  EXPECT_EQ(value("rss_file_bytes"), 45 * kPage);
  EXPECT_EQ(value("rss_anon_bytes"), 110 * kPage);
  sample(Tier::normal);
  EXPECT_EQ(value("processes"), 3);
  EXPECT_EQ(value("threads"), 5);
  EXPECT_EQ(value("minor_faults"), 10);
  EXPECT_EQ(value("major_faults"), 1);
  EXPECT_EQ(value("io_read_bytes"), 512);
  EXPECT_EQ(value("io_write_bytes"), 4096);
  ASSERT_EQ(board_.processes[0].size(), 3u);
  EXPECT_EQ(board_.processes[0][0].pid, 10u) << "the largest first";
  EXPECT_EQ(board_.processes[0][1].parent, 10u);
  EXPECT_STREQ(board_.processes[0][2].name, "fake");
  EXPECT_EQ(board_.events.size(), 0u) << "who was there at the start did not start";
}

TEST_F(ProcessProbeTest, WatchesOneProcessWithoutItsChildren) {
  children_ = false;
  put({.pid = 10, .user = 5, .reaped_user = 30, .children = {11}});
  put({.pid = 11, .parent = 10, .user = 4});
  open();
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 5 * kProcessTick);
  EXPECT_EQ(value("processes"), 1);
}

TEST_F(ProcessProbeTest, CountsAChildOnceWhenItsParentReapsIt) {
  put({.pid = 10, .user = 1, .children = {11}});
  put({.pid = 11, .parent = 10, .user = 50, .minor = 9, .read_bytes = 1000});
  open();
  EXPECT_EQ((sample(Tier::fast), value("cpu_ns")), 51 * kProcessTick);
  vanish(11);
  put({.pid = 10, .user = 1, .reaped_user = 52, .reaped_minor = 9, .read_bytes = 1000});
  EXPECT_EQ((sample(Tier::fast), value("cpu_ns")), 53 * kProcessTick);
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 53 * kProcessTick);
  EXPECT_EQ(value("minor_faults"), 9);
  EXPECT_EQ(value("io_read_bytes"), 1000) << "the kernel adds it to the parent's own";
  EXPECT_EQ(events("process_ended"), 1);
}

TEST_F(ProcessProbeTest, KeepsWhatNobodyOfTheTreeReaped) {
  put({.pid = 10, .user = 1, .children = {11}});
  put({.pid = 11, .parent = 10, .user = 50, .minor = 9, .children = {12}});
  put({.pid = 12, .parent = 11, .user = 30});
  open();
  // 11 ends and is reaped; 12 becomes init's, goes on, and ends.
  vanish(11);
  put({.pid = 10, .user = 1, .reaped_user = 50, .reaped_minor = 9});
  put({.pid = 12, .parent = 1, .user = 40});
  sample(Tier::fast);
  EXPECT_EQ(value("cpu_ns"), 91 * kProcessTick);
  vanish(12);
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 91 * kProcessTick);
  EXPECT_EQ(value("minor_faults"), 9);
}

TEST_F(ProcessProbeTest, KeepsChildrenOfAParentThatIgnoresThem) {
  put({.pid = 10, .user = 1, .children = {11, 12}});
  put({.pid = 11, .parent = 10, .user = 50});
  put({.pid = 12, .parent = 10, .user = 20});
  open();
  vanish(11);
  vanish(12);
  sample(Tier::fast);
  EXPECT_EQ(value("cpu_ns"), 71 * kProcessTick);
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 71 * kProcessTick);
}

TEST_F(ProcessProbeTest, ResolvesAWholeBranchThatEndsAtOnce) {
  put({.pid = 10, .user = 1, .children = {11}});
  put({.pid = 11, .parent = 10, .user = 50, .children = {12}});
  put({.pid = 12, .parent = 11, .user = 30, .children = {13}});
  put({.pid = 13, .parent = 12, .user = 20});
  open();
  for (const std::uint32_t pid : {11u, 12u, 13u}) vanish(pid);
  put({.pid = 10, .user = 1, .reaped_user = 100});
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 101 * kProcessTick);
  EXPECT_EQ(value("processes"), 1);
}

TEST_F(ProcessProbeTest, RoundingOfManyChildrenDoesNotAddUp) {
  put({.pid = 10, .user = 0, .children = {}});
  open();
  // Each child shows 4 ticks when seen last and hands over 3 or 5: rounded, 4 in the mean.
  std::uint64_t reaped = 0;
  for (std::uint32_t i = 0; i < 30; ++i) {
    const std::uint32_t child = 100 + i;
    put({.pid = child, .parent = 10, .user = 4});
    put({.pid = 10, .reaped_user = reaped, .children = {child}});
    sample(Tier::normal);
    vanish(child);
    reaped += i % 2 == 0 ? 3 : 5;
    put({.pid = 10, .reaped_user = reaped});
    sample(Tier::fast);
  }
  EXPECT_NEAR(value("cpu_ns"), 120 * kProcessTick, 2 * kProcessTick);
  EXPECT_EQ(events("process_started"), 30);
}

TEST_F(ProcessProbeTest, TellsAReusedPidByItsStart) {
  put({.pid = 10, .user = 1, .children = {11}});
  put({.pid = 11, .parent = 10, .name = "old", .user = 50, .start = 1000});
  open();
  put({.pid = 10, .user = 1, .reaped_user = 50, .children = {11}});
  put({.pid = 11, .parent = 10, .name = "new", .user = 2, .start = 2000});
  sample(Tier::normal);
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 53 * kProcessTick);
  EXPECT_EQ(events("process_ended"), 1);
  EXPECT_EQ(events("process_started"), 1);
  ASSERT_EQ(board_.processes[0].size(), 2u);
  EXPECT_STREQ(board_.processes[0][1].name, "new");
}

TEST_F(ProcessProbeTest, AZombieHasNoMemoryAndItsLastWordOnCpu) {
  put({.pid = 10, .user = 1, .children = {11}});
  put({.pid = 11, .parent = 10, .user = 5});
  open();
  put({.pid = 11,
       .parent = 10,
       .state = 'Z',
       .user = 9,
       .reaped_user = 3,
       .pages = 0,
       .resident = 0,
       .shared = 0});
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 13 * kProcessTick);
  EXPECT_EQ(value("rss_bytes"), 100 * kPage);
  EXPECT_EQ(value("processes"), 1);
  EXPECT_EQ(board_.processes[0][1].rss_bytes.status, SampleStatus::lost);
  // The root as well: no memory is not zero bytes of memory.
  put({.pid = 10, .state = 'Z', .user = 2, .pages = 0, .resident = 0, .shared = 0});
  sample(Tier::fast);
  EXPECT_EQ(get("rss_bytes").status, SampleStatus::lost);
  EXPECT_EQ(value("cpu_ns"), 14 * kProcessTick);
}

TEST_F(ProcessProbeTest, AZombieStillTellsWhatItWroteLast) {
  put({.pid = 10, .write_bytes = 4096, .children = {11}});
  put({.pid = 11, .parent = 10, .write_bytes = 1000});
  open();
  put({.pid = 10,
       .state = 'Z',
       .pages = 0,
       .resident = 0,
       .shared = 0,
       .write_bytes = 200'000'000});
  sample(Tier::normal);
  sample(Tier::normal);
  EXPECT_EQ(value("io_write_bytes"), 200'001'000);
  plan_.add("10/io", {.error = EACCES});
  sample(Tier::normal);
  EXPECT_EQ(value("io_write_bytes"), 200'001'000) << "what was read last stands";
}

TEST_F(ProcessProbeTest, ShortChildrenAreCountedInTheFastTier) {
  put({.pid = 10, .user = 1});
  open();
  put({.pid = 10, .user = 1, .reaped_user = 40});  // of children that nobody saw
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 41 * kProcessTick);
  put({.pid = 10, .user = 1, .reaped_user = 49});
  sample(Tier::fast);
  EXPECT_EQ(value("cpu_ns"), 50 * kProcessTick);
}

TEST_F(ProcessProbeTest, KeepsTheTotalWhenAllHaveEnded) {
  put({.pid = 10, .user = 5, .minor = 3});
  open();
  vanish(10);
  for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow, Tier::on_demand}) sample(tier);
  EXPECT_EQ(value("cpu_ns"), 5 * kProcessTick);
  EXPECT_EQ(value("minor_faults"), 3);
  for (const char* const metric :
       {"rss_bytes", "threads", "processes", "swap_bytes", "pss_bytes"}) {
    EXPECT_EQ(get(metric).status, SampleStatus::lost) << metric;
  }
}

TEST_F(ProcessProbeTest, FindsChildrenOfThreadsAndWithoutChildrenFiles) {
  put({.pid = 10, .threads = 2, .children = {}});
  probe::put(dir_ / "10/task/99/children", "11 ");
  put({.pid = 11, .parent = 10, .user = 4});
  open();
  sample(Tier::normal);
  EXPECT_EQ(value("processes"), 2);

  std::filesystem::remove_all(dir_ / "10/task");
  std::filesystem::remove_all(dir_ / "11/task");
  put({.pid = 9, .parent = 11});  // before its parent in the folder, and after it in time
  std::filesystem::remove_all(dir_ / "9/task");
  TestBoard other;
  ProbeOptions options;
  options.proc_root = dir_.path();
  options.pid = 10;
  const auto probe = make_process_probe(options, plan_);
  probe->open(other);
  probe->sample(Tier::normal, 1, other);
  EXPECT_EQ(other.get("tree", "processes").value, 3);
}

TEST_F(ProcessProbeTest, SaysWhatMayNotBeRead) {
  put({.pid = 10, .user = 5, .swap_kib = 12, .pss_kib = 100});
  open();
  plan_.add("/io", {.error = EACCES});
  plan_.add("/smaps_rollup", {.error = EACCES, .on_open = true});
  plan_.add("/statm", {.error = EIO, .first = 2});
  sample(Tier::normal);
  sample(Tier::fast);
  sample(Tier::slow);
  sample(Tier::on_demand);
  EXPECT_EQ(get("io_read_bytes").status, SampleStatus::not_permitted);
  EXPECT_NE(get("io_read_bytes").reason, nullptr);
  EXPECT_EQ(get("pss_bytes").status, SampleStatus::not_permitted);
  EXPECT_EQ(get("rss_bytes").status, SampleStatus::error);
  EXPECT_EQ(value("swap_bytes"), 12 * 1024);
  EXPECT_EQ(value("cpu_ns"), 5 * kProcessTick);
  plan_.clear();
  sample(Tier::on_demand);
  sample(Tier::normal);
  EXPECT_EQ(value("pss_bytes"), 100 * 1024);
  EXPECT_EQ(value("rss_bytes"), 100 * kPage);
}

TEST_F(ProcessProbeTest, CpuTimeNeverGoesBack) {
  put({.pid = 10, .user = 50, .reaped_user = 20, .minor = 5});
  open();
  put({.pid = 10, .user = 40, .reaped_user = 10, .minor = 2});
  sample(Tier::normal);
  EXPECT_EQ(value("cpu_ns"), 70 * kProcessTick);
  EXPECT_EQ(value("minor_faults"), 5);
}

TEST_F(ProcessProbeTest, SurvivesGarbage) {
  put({.pid = 10, .user = 5, .children = {11}});
  put({.pid = 11, .parent = 10});
  open();
  for (const char* const text : {"", "x", "10 (", "10 )x(", "10 (a) S", "\xff\xfe", "-1 -1 -1"}) {
    for (const char* const file :
         {"/stat", "/statm", "/io", "/status", "/children", "/smaps_rollup"}) {
      plan_.clear();
      plan_.add(file, {.replace = true, .content = text});
      for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow, Tier::on_demand}) sample(tier);
      EXPECT_EQ(value("cpu_ns"), 5 * kProcessTick);
    }
  }
}

TEST_F(ProcessProbeTest, BoundsEventsAndMembers) {
  FakeProcess root{.pid = 10};
  put(root);
  open();
  for (std::uint32_t i = 0; i < 2100; ++i) {
    root.children.push_back(100 + i);
    const std::string folder = dir_ / std::to_string(100 + i);
    const FakeProcess child{.pid = 100 + i, .parent = 10};
    probe::put(folder + "/stat", stat_text(child));
    probe::put(folder + "/statm", "10 2 1 0 0 0 0\n");
  }
  put(root);
  sample(Tier::normal);
  EXPECT_EQ(events("process_started"), 64);
  EXPECT_EQ(events("process_events_dropped"), 1);
  EXPECT_EQ(events("tree_too_large"), 1);
  EXPECT_EQ(value("processes"), 2048);
  EXPECT_EQ(board_.processes[0].size(), kMaxProcessRows);
  sample(Tier::normal);
  EXPECT_EQ(events("tree_too_large"), 1) << "told once";
}

TEST_F(ProcessProbeTest, IsAbsentWithoutTheProcess) {
  EXPECT_EQ(open(10).kind, ProbeState::Kind::absent);
  plan_.add("/stat", {.error = EACCES, .on_open = true});
  EXPECT_EQ(open(10).kind, ProbeState::Kind::denied);
}

// A child that uses some CPU time and ends, waited for.
void run_short_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    timespec used{};
    do {
      ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_nsec < 60'000'000);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST(ProcessProbe, CountsShortChildrenOfALiveProcessInTheFastTier) {
  TestBoard board;
  const auto probe = make_process_probe({}, base::Files::system());
  ASSERT_EQ(probe->open(board).kind, ProbeState::Kind::works);
  run_short_child();
  probe->sample(Tier::normal, 1, board);
  const double before = board.get("tree", "cpu_ns").value;
  run_short_child();
  probe->sample(Tier::fast, 2, board);
  EXPECT_GE(board.get("tree", "cpu_ns").value, before + 40e6);
}

TEST(ProcessProbe, ReadsItself) {
  TestBoard board;
  const auto probe = make_process_probe({}, base::Files::system());
  ASSERT_EQ(probe->open(board).kind, ProbeState::Kind::works);
  for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow, Tier::on_demand}) {
    probe->sample(tier, 1, board);
  }
  for (const auto& series : board.series) {
    EXPECT_GT(series.sets, 0) << series.metric->id;
    EXPECT_TRUE(series.reading.status == SampleStatus::ok || series.reading.reason != nullptr)
        << series.metric->id;
  }
  EXPECT_GT(board.get("tree", "cpu_ns").value, 0);
  EXPECT_GT(board.get("tree", "rss_bytes").value, 1e6);
}

}  // namespace
}  // namespace genscope::probe
