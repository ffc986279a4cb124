// A recorder with nothing to do sleeps, and wakes when there is something.
#include <dirent.h>

#include <chrono>
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

// How often a thread of ours has gone to sleep so far; -1: there is none of that name.
std::int64_t naps_of(const std::string& thread) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name = slurp(task.path() / "comm");
    if (name != thread + "\n") continue;
    const std::string status = slurp(task.path() / "status");
    const std::size_t at = status.find("\nvoluntary_ctxt_switches:");
    if (at == std::string::npos) return -1;
    return std::strtoll(status.c_str() + at + 25, nullptr, 10);
  }
  return -1;
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Idle, TheDrainThreadSleepsWhileNothingIsRecorded) {
  const TempDir dir;
  const Session session("idle", options_in(dir));
  { const Stage stage("something"); }
  sleep_ms(1000);  // the first clock snapshots
  const std::int64_t before = naps_of("genscope-drain");
  ASSERT_GE(before, 0);
  const std::int64_t from = base::monotonic_ns();
  sleep_ms(3000);
  const std::int64_t naps = naps_of("genscope-drain") - before;
  const std::int64_t seconds = (base::monotonic_ns() - from) / 1'000'000'000 + 1;
  // Once a second for the clock; a lock that another thread holds may add one.
  EXPECT_LE(naps, 2 * seconds);
}

TEST(Idle, AFullChunkEndsItsRest) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.buffer_bytes = 512 << 10;  // what it does not take in time is dropped
  {
    const Session session("chunks", options);
    for (int round = 0; round < 3; ++round) {
      sleep_ms(700);  // it rests
      const std::uint64_t before = recorder_stats().bytes_written;
      for (int i = 0; i < 9000; ++i) {
        GENSCOPE_STAGE("wake");
      }
      for (int i = 0; i < 20'000 && recorder_stats().bytes_written == before; ++i) sleep_ms(1);
      EXPECT_GT(recorder_stats().bytes_written, before);
    }
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  EXPECT_EQ(spans_named(trace, "wake").size(), 27'000u);
}

}  // namespace
}  // namespace genscope::testing
