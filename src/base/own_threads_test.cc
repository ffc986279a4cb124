#include "base/own_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"

namespace genscope::base {
namespace {

void work(std::int64_t ns) {
  const std::int64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

TEST(OwnThreads, CountsWhatToldAndNothingElse) {
  const std::int64_t before = own_cpu_ns();
  work(20'000'000);
  EXPECT_EQ(own_cpu_ns(), before) << "this thread has not told";
  std::thread([] {
    work(30'000'000);
    const OwnThread counted;
    work(10'000'000);
  }).join();
  const std::int64_t took = own_cpu_ns() - before;
  EXPECT_GE(took, 10'000'000) << "also of a thread that has ended";
  EXPECT_LT(took, 30'000'000) << "what it had used before is not counted";
}

TEST(OwnThreads, AThreadThatWorksIsReadFromOutside) {
  const OwnThread counted;
  const std::int64_t before = own_cpu_ns();
  work(3'000'000);
  std::int64_t seen = 0;
  std::thread([&] { seen = own_cpu_ns(); }).join();
  EXPECT_GE(seen - before, 3'000'000);
}

TEST(OwnThreads, AForkedChildStartsAtNothing) {
  const OwnThread counted;
  work(3'000'000);
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(own_cpu_ns() == 0 ? 0 : 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

// Last: it cannot be taken back.
TEST(OwnThreads, TheWholeProcess) {
  whole_process_is_own();
  const std::int64_t before = own_cpu_ns();
  work(3'000'000);
  EXPECT_GE(own_cpu_ns() - before, 3'000'000);
}

}  // namespace
}  // namespace genscope::base
