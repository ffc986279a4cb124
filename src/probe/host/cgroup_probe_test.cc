#include "probe/builtin.h"
#include "probe/host/cgroup_text.h"
#include "probe/host/test_tree.h"
#include "probe/test_board.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::probe {
namespace {

constexpr const char* kV2Mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kHybridMounts =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

class CgroupProbeTest : public ::testing::Test {
 protected:
  CgroupProbeTest() { put(dir_ / "sys/devices/system/cpu/online", "0-7\n"); }
  void process(const std::string& cgroup, const std::string& mounts) {
    put(dir_ / "proc/10/cgroup", cgroup);
    put(dir_ / "proc/10/mountinfo", "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts);
  }
  void file(const std::string& name, const std::string& text) {
    put(dir_ / ("sys/fs/cgroup/" + name), text);
  }
  void v2_tree() {
    process("0::/a/b\n", kV2Mount);
    file("a/memory.max", "1000000\n");
    file("a/memory.high", "max\n");
    file("a/cpu.max", "150000 100000\n");
    file("a/b/memory.max", "max\n");
    file("a/b/memory.high", "2000000\n");
    file("a/b/cpu.max", "max 100000\n");
    file("a/b/memory.current", "500000\n");
    file("a/b/memory.peak", "700000\n");
    file("a/b/memory.stat", "anon 1\nfile 2\ninactive_file 100000\n");
    file("a/b/memory.events", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 1\n");
    file("a/b/cpu.stat", "usage_usec 123\nuser_usec 1\nthrottled_usec 45\n");
    file("a/b/cpuset.cpus.effective", "0-3\n");
    for (const char* const resource : {"cpu", "memory", "io"}) {
      file("a/b/" + std::string(resource) + ".pressure",
           "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 total=3\n");
    }
  }
  ProbeState open() {
    ProbeOptions options;
    options.proc_root = dir_ / "proc";
    options.sys_root = dir_ / "sys";
    options.pid = 10;
    probe_ = make_cgroup_probe(options, plan_);
    const ProbeState state = probe_->open(board_);
    if (!board_.entities.empty()) id_ = board_.entities.back().id;
    sample();
    return state;
  }
  void sample() {
    for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow, Tier::on_demand}) {
      probe_->sample(tier, 0, board_);
    }
  }
  Reading get(std::string_view metric) const { return board_.get(id_, metric); }
  double value(std::string_view metric) const {
    EXPECT_EQ(get(metric).status, SampleStatus::ok) << metric;
    return get(metric).value;
  }
  std::string fact(const std::string& key) const {
    for (const auto& [name, text] : board_.entities.back().facts) {
      if (name == key) return text;
    }
    return "";
  }

  genscope::testing::TempDir dir_;
  genscope::testing::FaultPlan plan_;
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
  std::string id_;
};

TEST_F(CgroupProbeTest, ReadsV2WithTheLeastLimitOfAllAncestors) {
  v2_tree();
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  EXPECT_EQ(id_, "cgroup:/a/b");
  EXPECT_EQ(fact("version"), "v2");
  EXPECT_EQ(value("memory_limit_bytes"), 1000000);
  EXPECT_EQ(value("cpu_limit_cores"), 1.5);
  EXPECT_EQ(value("memory_used_bytes"), 500000);
  EXPECT_EQ(value("memory_peak_bytes"), 700000);
  EXPECT_EQ(value("memory_working_set_bytes"), 400000);
  EXPECT_EQ(value("memory_oom_kills"), 1);
  EXPECT_EQ(value("cpu_ns"), 123000);
  EXPECT_EQ(value("cpu_throttled_ns"), 45000);
  EXPECT_EQ(value("pressure_memory_full_ns"), 3000);
}

TEST_F(CgroupProbeTest, CpusetLimitsTooUnlessItHasAll) {
  v2_tree();
  file("a/cpu.max", "max 100000\n");
  open();
  EXPECT_EQ(value("cpu_limit_cores"), 4);
  file("a/b/cpuset.cpus.effective", "0-7\n");
  sample();
  EXPECT_EQ(get("cpu_limit_cores").status, SampleStatus::absent);
  EXPECT_STREQ(get("cpu_limit_cores").reason, "no limit");
}

TEST_F(CgroupProbeTest, NoLimitIsAbsentNotZero) {
  v2_tree();
  file("a/memory.max", "max\n");
  file("a/b/memory.high", "max\n");
  open();
  EXPECT_EQ(get("memory_limit_bytes").status, SampleStatus::absent);
  EXPECT_STREQ(get("memory_limit_bytes").reason, "no limit");
}

TEST_F(CgroupProbeTest, ReadsHybrid) {
  process("4:memory:/m/n\n3:cpuset:/\n2:cpu,cpuacct:/c\n1:name=systemd:/x\n0::/\n", kHybridMounts);
  file("memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("memory/m/memory.limit_in_bytes", "800000\n");
  file("memory/m/n/memory.limit_in_bytes", "9223372036854771712\n");
  file("memory/m/n/memory.usage_in_bytes", "300000\n");
  file("memory/m/n/memory.max_usage_in_bytes", "400000\n");
  file("memory/m/n/memory.stat", "inactive_file 1\ntotal_inactive_file 100000\n");
  file("memory/m/n/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  file("cpu,cpuacct/c/cpuacct.usage", "12345\n");
  file("cpu,cpuacct/c/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 77\n");
  file("cpu,cpuacct/c/cpu.cfs_quota_us", "50000\n");
  file("cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
  file("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  file("cpuset/cpuset.cpus", "0-7\n");
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  EXPECT_EQ(id_, "cgroup:/m/n");
  EXPECT_EQ(fact("version"), "hybrid");
  EXPECT_EQ(value("memory_limit_bytes"), 800000);
  EXPECT_EQ(value("memory_used_bytes"), 300000);
  EXPECT_EQ(value("memory_peak_bytes"), 400000);
  EXPECT_EQ(value("memory_working_set_bytes"), 200000);
  EXPECT_EQ(value("memory_oom_kills"), 3);
  EXPECT_EQ(value("cpu_ns"), 12345);
  EXPECT_EQ(value("cpu_throttled_ns"), 77);
  EXPECT_EQ(value("cpu_limit_cores"), 0.5);
  EXPECT_EQ(get("pressure_io_some_ns").status, SampleStatus::absent);
}

TEST_F(CgroupProbeTest, ReadsV1Alone) {
  process("4:memory:/m\n2:cpu,cpuacct:/\n",
          "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  file("memory/m/memory.usage_in_bytes", "300000\n");
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  EXPECT_EQ(fact("version"), "v1");
  EXPECT_EQ(value("memory_used_bytes"), 300000);
  EXPECT_EQ(get("cpu_ns").status, SampleStatus::absent);
  EXPECT_EQ(get("cpu_limit_cores").status, SampleStatus::absent);
}

TEST_F(CgroupProbeTest, TheTopHasFewFiles) {
  process("0::/\n", kV2Mount);
  file("cpu.stat", "usage_usec 9\n");
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  EXPECT_EQ(value("cpu_ns"), 9000);
  EXPECT_EQ(get("memory_used_bytes").status, SampleStatus::absent);
  EXPECT_EQ(get("memory_limit_bytes").status, SampleStatus::absent);
  EXPECT_EQ(get("cpu_throttled_ns").status, SampleStatus::not_supported);
}

TEST_F(CgroupProbeTest, FollowsAProcessThatMoves) {
  v2_tree();
  open();
  EXPECT_FALSE(probe_->wants_rescan());
  process("0::/a\n", kV2Mount);
  file("a/memory.current", "1\n");
  sample();
  ASSERT_TRUE(probe_->wants_rescan());
  probe_->open(board_);
  EXPECT_FALSE(probe_->wants_rescan());
  EXPECT_EQ(get("memory_used_bytes").status, SampleStatus::lost);
  probe_->sample(Tier::fast, 0, board_);
  EXPECT_EQ(board_.get("cgroup:/a", "memory_used_bytes").value, 1);
}

TEST_F(CgroupProbeTest, ReadFaultsAreStatuses) {
  v2_tree();
  open();
  plan_.add("memory.current", {.error = ENODEV});
  plan_.add("memory.max", {.error = EACCES});
  plan_.add("cpu.stat", {.error = EIO});
  plan_.add("memory.peak", {.replace = true, .content = "garbage"});
  plan_.add("cpu.max", {.replace = true, .content = "1 0"});
  plan_.add("cgroup", {.error = ESRCH});
  sample();
  EXPECT_EQ(get("memory_used_bytes").status, SampleStatus::lost);
  EXPECT_EQ(get("memory_limit_bytes").status, SampleStatus::not_permitted);
  EXPECT_EQ(get("cpu_ns").status, SampleStatus::error);
  EXPECT_EQ(get("memory_peak_bytes").status, SampleStatus::error);
  EXPECT_EQ(get("cpu_limit_cores").status, SampleStatus::error);
  EXPECT_FALSE(probe_->wants_rescan());
}

TEST_F(CgroupProbeTest, IsAbsentWithoutCgroups) {
  EXPECT_EQ(open().kind, ProbeState::Kind::absent) << "no such process";
  process("0::/\n", "");
  EXPECT_EQ(open().kind, ProbeState::Kind::absent) << "nothing mounted";
}

TEST(FindCgroups, TakesTheMountsRootOff) {
  // A container that sees its own part only, without a cgroup namespace.
  const auto places = find_cgroups(
      "0::/docker/abc/inner\n", "1 2 0:1 /docker/abc /sys/fs/cgroup ro - cgroup2 none rw\n", "/s");
  ASSERT_TRUE(places.memory);
  EXPECT_EQ(places.memory->folder, "/s/fs/cgroup/inner");
  EXPECT_EQ(places.memory->mount, "/s/fs/cgroup");
}

TEST(FindCgroups, StaysAtTheTopWhenThePathCannotBeSeen) {
  for (const char* const path : {"/other", "/docker/abcd", "/../..", "/docker/abc/../../x"}) {
    const auto places =
        find_cgroups(std::string("0::") + path + "\n",
                     "1 2 0:1 /docker/abc /sys/fs/cgroup ro - cgroup2 none rw\n", "/sys");
    ASSERT_TRUE(places.memory) << path;
    EXPECT_EQ(places.memory->folder, "/sys/fs/cgroup") << path;
  }
}

TEST(FindCgroups, UnescapesMountPointsAndLeavesOthersWhereTheyAre) {
  const auto places =
      find_cgroups("0::/a\n", "1 2 0:1 / /mnt/my\\040cgroup rw - cgroup2 none rw\n", "/fake");
  ASSERT_TRUE(places.unified);
  EXPECT_EQ(places.unified->folder, "/mnt/my cgroup/a");
}

TEST(FindCgroups, SlashesAtTheEndTakeNothingOffTheMount) {
  const auto places = find_cgroups("0::///\n", "1 2 0:1 / /mnt/ rw - cgroup2 none rw\n", "/fake");
  ASSERT_TRUE(places.unified);
  EXPECT_EQ(places.unified->mount, "/mnt/");
  EXPECT_EQ(places.unified->folder, "/mnt/");
}

TEST(FindCgroups, SurvivesGarbage) {
  for (const char* const text :
       {"", ":", "::", "0::", "x - cgroup2", " - cgroup2 a b", "\\0", "- - -"}) {
    const auto places = find_cgroups(text, text, "/sys");
    EXPECT_TRUE(places.version.empty()) << text;
  }
}

}  // namespace
}  // namespace genscope::probe
