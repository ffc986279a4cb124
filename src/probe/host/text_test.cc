#include "probe/host/process_text.h"
#include "probe/host/system_text.h"

namespace genscope::probe {
namespace {

TEST(ParseStat, NameMayHoldAnything) {
  ProcessStat stat;
  ASSERT_TRUE(
      parse_stat("42 (a) b) (c\n) R 7 1 1 0 -1 0 10 11 12 13 14 15 16 17 20 0 3 0 99 1 2", stat));
  EXPECT_EQ(stat.pid, 42u);
  EXPECT_EQ(stat.parent, 7u);
  EXPECT_EQ(stat.name, "a) b) (c\n");
  EXPECT_EQ(stat.state, 'R');
  EXPECT_EQ(stat.minor_faults, 10u);
  EXPECT_EQ(stat.reaped_minor_faults, 11u);
  EXPECT_EQ(stat.major_faults, 12u);
  EXPECT_EQ(stat.reaped_major_faults, 13u);
  EXPECT_EQ(stat.cpu_ticks, 29u);
  EXPECT_EQ(stat.reaped_cpu_ticks, 33u);
  EXPECT_EQ(stat.threads, 3u);
  EXPECT_EQ(stat.start, 99u);
}

TEST(ParseStat, RefusesWhatIsCutShort) {
  const std::string whole = "42 (a) R 7 1 1 0 -1 0 10 11 12 13 14 15 16 17 20 0 3 0 99";
  ProcessStat stat;
  ASSERT_TRUE(parse_stat(whole, stat));
  for (std::size_t n = 0; n + 3 < whole.size(); ++n) {
    EXPECT_FALSE(parse_stat(whole.substr(0, n), stat)) << n;
  }
}

TEST(ParseStatm, RefusesTheImpossible) {
  ProcessMemory memory;
  EXPECT_TRUE(parse_statm("0 0 0 0 0 0 0", memory));
  EXPECT_FALSE(parse_statm("10 5", memory));
  EXPECT_FALSE(parse_statm("10 5 6 0", memory)) << "more shared than resident";
  EXPECT_FALSE(parse_statm("-1 5 6", memory));
}

TEST(CountCpus, ReadsLists) {
  EXPECT_EQ(count_cpus("0"), 1u);
  EXPECT_EQ(count_cpus("0-3,8,10-11"), 7u);
  EXPECT_EQ(count_cpus(""), 0u);
  EXPECT_EQ(count_cpus("3-1"), 0u);
  EXPECT_EQ(count_cpus("a-b"), 0u);
  EXPECT_EQ(count_cpus("0-99999999999"), 0u);
}

TEST(Disks, NamesOfPartitionsAndStackedOnes) {
  for (const char* const name : {"sda1", "vdb12", "xvda1", "nvme0n1p2", "mmcblk0p1"}) {
    EXPECT_TRUE(is_partition_name(name)) << name;
  }
  for (const char* const name : {"sda", "nvme0n1", "mmcblk0", "sr0", "vdaa"}) {
    EXPECT_FALSE(is_partition_name(name)) << name;
    EXPECT_FALSE(is_stacked_disk(name)) << name;
  }
  for (const char* const name : {"loop0", "dm-3", "md127", "zram0", "ram1", "nvme0c1n1"}) {
    EXPECT_TRUE(is_stacked_disk(name)) << name;
  }
}

}  // namespace
}  // namespace genscope::probe
