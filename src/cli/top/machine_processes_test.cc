#include "cli/top/machine_processes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace genscope::cli::top {
namespace {

TEST(MachineProcesses, AreReadFromTheirStatFiles) {
  const genscope::testing::TempDir dir;
  const auto process = [&](const char* pid, const char* stat) {
    std::filesystem::create_directory(dir / pid);
    std::ofstream(dir / pid + "/stat") << stat;
  };
  process("42", "42 (a) b) R 7 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 3 0 9876 1000000 512 1 2 3");
  process("43", "43 (kworker) I 2 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 0 0 1 2 3");
  process("44", "44 (cut off) R 7 1");
  process("x", "no process");
  const std::vector<ProcessRow> rows = machine_processes(dir.path());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].pid, 42u);
  EXPECT_EQ(rows[0].parent, 7u);
  EXPECT_EQ(rows[0].start, 9876u);
  EXPECT_STREQ(rows[0].name, "a) b");
  EXPECT_DOUBLE_EQ(rows[0].cpu_ns.value, 300e9 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  EXPECT_DOUBLE_EQ(rows[0].rss_bytes.value, 512.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  EXPECT_TRUE(machine_processes(dir / "none").empty());
}

}  // namespace
}  // namespace genscope::cli::top
