// After its first span a thread makes no system call but the few that let its buffers grow: strace
// sees nothing else between two markers. (A call that another thread's interrupts is two lines in
// its log; the second says "resumed".) Named with "SanitizeSkip" for ctest: sanitizers make calls
// of their own.
#include <sstream>

#include "support.h"

namespace genscope::testing {
namespace {

TEST(SyscallsSanitizeSkip, AProducerMakesNone) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make system calls";
  const TempDir dir;
  if (Child(dir, {"strace", "-V"}).wait().exit_code != 0) GTEST_SKIP() << "no strace";
  if (Child(dir, {"strace", "-o", "/dev/null", "true"}).wait().exit_code != 0) {
    GTEST_SKIP() << "may not trace here";
  }
  Child child(
      dir, {"strace", "-f", "-o", dir / "calls", helper_path("producer"), dir / "run", "1000000"});
  ASSERT_EQ(child.wait().exit_code, 0);
  std::istringstream calls(slurp(dir / "calls"));
  std::string producer, between;
  int markers = 0, others = 0, wakes = 0;
  for (std::string line; std::getline(calls, line);) {
    const std::string pid = line.substr(0, line.find(' '));
    if (line.find("getpgid(0") != std::string::npos) {
      markers++;
      producer = pid;
    } else if (markers == 1 && pid == producer && line.find(" futex(") != std::string::npos) {
      wakes++;
    } else if (markers == 1 && pid == producer && line.find(" resumed>") == std::string::npos) {
      others++;
      between += line + "\n";
    }
  }
  EXPECT_EQ(markers, 2);
  EXPECT_EQ(others, 0) << between;
  EXPECT_LE(wakes, 12) << "the buffers double at most four times, with a wait for each";
  EXPECT_GE(only_trace(dir).spans.size(), 900'000u);
}

}  // namespace
}  // namespace genscope::testing
