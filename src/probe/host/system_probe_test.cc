#include "probe/builtin.h"
#include "probe/host/test_tree.h"
#include "probe/test_board.h"
#include "testing/fault_plan.h"
#include "testing/temp_dir.h"

namespace genscope::probe {
namespace {

class SystemProbeTest : public ::testing::Test {
 protected:
  SystemProbeTest() {
    put(dir_ / "proc/stat", "cpu  100 0 50 800 50 0 0 0 30 0\ncpu0 1 2\nintr 5\n");
    put(dir_ / "proc/loadavg", "1.25 0.5 0.1 3/200 4711\n");
    put(dir_ / "proc/meminfo",
        "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n"
        "SwapTotal:        50 kB\nSwapFree:         20 kB\n");
    put(dir_ / "proc/sys/kernel/hostname", "box\n");
    put(dir_ / "proc/sys/kernel/osrelease", "6.1.0\n");
    put(dir_ / "proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU @ 3 GHz\n");
    put(dir_ / "sys/devices/system/cpu/online", "0-2,5\n");
    for (const char* const resource : {"cpu", "memory", "io"}) {
      put(dir_ / ("proc/pressure/" + std::string(resource)),
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
          "full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
    }
    put(dir_ / "proc/net/dev",
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
        "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
        "  eth0: 1000 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
        "  eth1:11 1 0 0 0 0 0 0 22 1 0 0 0 0 0 0\n");
    disks(
        "   8 0 sda 1 0 10 0 1 0 20 0 0 0 0\n   8 1 sda1 1 0 10 0 1 0 20 0 0 0 0\n"
        " 259 0 nvme0n1 1 0 4 0 1 0 2 0 0 0 0\n 259 1 nvme0n1p1 1 0 4 0 1 0 2 0 0 0 0\n"
        " 259 2 nvme0c0n1 1 0 4 0 1 0 2 0 0 0 0\n"
        " 253 0 dm-0 1 0 10 0 1 0 20 0 0 0 0\n   9 0 md0 1 0 10 0 1 0 20 0 0 0 0\n"
        "   7 0 loop0 1 0 10 0 1 0 20 0 0 0 0\n 253 0 zram0 1 0 10 0 1 0 20 0 0 0 0\n"
        "   1 0 ram0 1 0 10 0 1 0 20 0 0 0 0\n");
  }
  void disks(const std::string& text) { put(dir_ / "proc/diskstats", text); }
  ProbeState open() {
    ProbeOptions options;
    options.proc_root = dir_ / "proc";
    options.sys_root = dir_ / "sys";
    probe_ = make_system_probe(options, plan_);
    return probe_->open(board_);
  }
  void sample(Tier tier = Tier::normal) { probe_->sample(tier, 0, board_); }
  Reading get(std::string_view metric) const { return board_.get("machine", metric); }
  double value(std::string_view metric) const {
    EXPECT_EQ(get(metric).status, SampleStatus::ok) << metric;
    return get(metric).value;
  }

  genscope::testing::TempDir dir_;
  genscope::testing::FaultPlan plan_;
  TestBoard board_;
  std::unique_ptr<Probe> probe_;
};

TEST_F(SystemProbeTest, ReadsAMachine) {
  ASSERT_EQ(open().kind, ProbeState::Kind::works);
  EXPECT_EQ(board_.entities[0].name, "box");
  const std::vector<std::pair<std::string, std::string>> facts{
      {"host", "box"}, {"kernel", "6.1.0"}, {"cpu", "A CPU @ 3 GHz"}, {"cpus", "4"}};
  EXPECT_EQ(board_.entities[0].facts, facts);
  sample();
  sample(Tier::slow);
  EXPECT_EQ(value("cpu_count"), 4);
  EXPECT_EQ(value("load_1m"), 1.25);
  EXPECT_EQ(value("memory_total_bytes"), 1000 * 1024);
  EXPECT_EQ(value("memory_used_bytes"), 600 * 1024);
  EXPECT_EQ(value("memory_available_bytes"), 400 * 1024);
  EXPECT_EQ(value("memory_free_bytes"), 100 * 1024);
  EXPECT_EQ(value("swap_total_bytes"), 50 * 1024);
  EXPECT_EQ(value("swap_used_bytes"), 30 * 1024);
  EXPECT_EQ(value("pressure_cpu_some_ns"), 7000);
  EXPECT_EQ(value("pressure_io_full_ns"), 3000);
  EXPECT_EQ(value("net_receive_bytes"), 1011);
  EXPECT_EQ(value("net_send_bytes"), 222);
}

TEST_F(SystemProbeTest, SharesAreOfTheTimeBetweenTwoReadings) {
  open();
  sample();
  EXPECT_EQ(get("cpu_busy_ratio").status, SampleStatus::pending);
  // 20 user, 10 nice, 10 system, 5 irq, 5 softirq, 40 idle, 10 steal; iowait shrinks; guest is in
  // user.
  put(dir_ / "proc/stat", "cpu  120 10 60 840 40 5 5 10 60 0\n");
  sample();
  EXPECT_DOUBLE_EQ(value("cpu_user_ratio"), 0.30);
  EXPECT_DOUBLE_EQ(value("cpu_system_ratio"), 0.20);
  EXPECT_DOUBLE_EQ(value("cpu_steal_ratio"), 0.10);
  EXPECT_DOUBLE_EQ(value("cpu_iowait_ratio"), 0);
  EXPECT_DOUBLE_EQ(value("cpu_busy_ratio"), 0.60);
  sample();  // no time has passed
  EXPECT_DOUBLE_EQ(value("cpu_busy_ratio"), 0.60);
}

TEST_F(SystemProbeTest, CountsWholeDisksOnce) {
  open();
  sample();
  EXPECT_EQ(value("disk_read_bytes"), 14 * 512);
  EXPECT_EQ(value("disk_write_bytes"), 22 * 512);
}

TEST_F(SystemProbeTest, SysfsKnowsWholeDisksByNoMatterWhatName) {
  disks(
      " 202 1 xvda1 1 0 10 0 1 0 20 0 0 0 0\n 202 2 xvda2 1 0 10 0 1 0 20 0 0 0 0\n"
      " 1 2 cciss/c0d0 1 0 1 0 1 0 1 0 0 0 0\n 1 3 cciss/c0d0p1 1 0 1 0 1 0 1 0 0 0 0\n");
  std::filesystem::create_directories(dir_ / "sys/block/xvda1");
  std::filesystem::create_directories(dir_ / "sys/block/cciss!c0d0");
  open();
  sample();
  EXPECT_EQ(value("disk_read_bytes"), 11 * 512);
}

TEST_F(SystemProbeTest, SumsOnlyGrow) {
  open();
  sample();
  disks("   8 0 sda 1 0 12 0 1 0 20 0 0 0 0\n");  // the other disk is gone
  sample();
  EXPECT_EQ(value("disk_read_bytes"), 16 * 512);
  disks("   8 0 sda 1 0 12 0 1 0 20 0 0 0 0\n 259 0 nvme0n1 1 0 1 0 1 0 0 0 0 0 0\n");
  sample();
  EXPECT_EQ(value("disk_read_bytes"), 17 * 512) << "back, and counting from nothing";
}

TEST_F(SystemProbeTest, ReadsListsThatComeInPieces) {
  std::string text;
  for (int i = 0; i < 900; ++i) {
    text += "  8 " + std::to_string(i) + " disk" + std::to_string(i) + "x 1 0 2 0 1 0 2 0 0 0 0\n";
  }
  disks(text);
  open();
  sample();
  EXPECT_EQ(value("disk_read_bytes"), 512 * 2 * 512) << "as many disks as there is room for";
}

TEST_F(SystemProbeTest, PressureIsAbsentWithAReason) {
  std::filesystem::remove_all(dir_ / "proc/pressure");
  plan_.add("pressure/memory", {.error = EOPNOTSUPP});
  put(dir_ / "proc/pressure/memory", "");
  put(dir_ / "proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  open();
  sample();
  EXPECT_EQ(get("pressure_cpu_some_ns").status, SampleStatus::absent);
  EXPECT_NE(get("pressure_cpu_some_ns").reason, nullptr);
  EXPECT_EQ(get("pressure_memory_some_ns").status, SampleStatus::absent);
  EXPECT_EQ(get("pressure_memory_full_ns").status, SampleStatus::absent);
  EXPECT_EQ(value("pressure_io_some_ns"), 7000);
  EXPECT_EQ(get("pressure_io_full_ns").status, SampleStatus::not_supported);
}

TEST_F(SystemProbeTest, ReadFaultsAreStatusesAndPass) {
  open();
  sample();
  for (const char* const file : {"/stat", "/meminfo", "/loadavg", "/diskstats", "net/dev"}) {
    plan_.add(file, {.error = EIO});
  }
  plan_.add("pressure/cpu", {.error = EPERM});
  plan_.add("cpu/online", {.error = ENODEV});
  sample();
  sample(Tier::slow);
  for (const char* const metric : {"cpu_busy_ratio", "load_1m", "memory_used_bytes",
                                   "swap_used_bytes", "disk_read_bytes", "net_send_bytes"}) {
    EXPECT_EQ(get(metric).status, SampleStatus::error) << metric;
  }
  EXPECT_EQ(get("pressure_cpu_some_ns").status, SampleStatus::not_permitted);
  EXPECT_EQ(get("cpu_count").status, SampleStatus::lost);
  plan_.clear();
  sample();
  EXPECT_EQ(get("cpu_busy_ratio").status, SampleStatus::pending);
  EXPECT_EQ(value("net_send_bytes"), 222);
}

TEST_F(SystemProbeTest, OldKernelsLackMemAvailable) {
  put(dir_ / "proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\n");
  open();
  sample();
  EXPECT_EQ(value("memory_total_bytes"), 1000 * 1024);
  EXPECT_EQ(get("memory_used_bytes").status, SampleStatus::not_supported);
  EXPECT_EQ(get("swap_used_bytes").status, SampleStatus::not_supported);
}

TEST_F(SystemProbeTest, SurvivesGarbage) {
  open();
  for (const char* const text :
       {"", "cpu", "cpu x", ":", "eth0:", "\n\n\n", "\xff", "0-",
        "some total=", "MemTotal: -1\nMemAvailable: 99999999999999999999\n"}) {
    plan_.clear();
    plan_.add("", {.replace = true, .content = text});
    sample();
    sample(Tier::slow);
    EXPECT_NE(get("cpu_busy_ratio").status, SampleStatus::ok);
  }
}

TEST_F(SystemProbeTest, IsAbsentWithoutProc) {
  std::filesystem::remove_all(dir_ / "proc");
  EXPECT_EQ(open().kind, ProbeState::Kind::absent);
  EXPECT_TRUE(board_.entities.empty());
}

}  // namespace
}  // namespace genscope::probe
