// Killed at a random instant, a process leaves every span that it finished.
// GENSCOPE_KILL_TRIALS: how often for each rate (the figure is 20).
#include <signal.h>

#include <chrono>
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

constexpr std::size_t kThreads = 2;

int trials() {
  const char* const text = std::getenv("GENSCOPE_KILL_TRIALS");
  return text != nullptr ? std::atoi(text) : kSanitized ? 2 : 5;
}

std::vector<std::string> command(const TempDir& dir, int rate, const std::string& how) {
  std::vector<std::string> out = {helper_path("kill_me"), dir / "run", dir / "counters",
                                  std::to_string(rate), std::to_string(kThreads)};
  if (!how.empty()) out.push_back(how);
  return out;
}

void wait_until_recording(SharedWords& counters) {
  for (int i = 0; i < 10'000; ++i) {
    bool all = true;
    for (std::size_t t = 0; t < kThreads; ++t) all &= counters[t].load() > 0;
    if (all) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  FAIL() << "the helper does not record";
}

// Every finished span is there, whole, with its number.
void expect_nothing_lost(const Trace& trace, SharedWords& counters) {
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
  EXPECT_EQ(total_dropped_spans(trace), 0u);
  std::map<std::string, std::uint64_t> found;
  for (std::size_t s = 0; s < trace.spans.size(); ++s) {
    if (finished(trace, s)) found[trace.tracks[trace.spans.track[s]].name]++;
  }
  for (std::size_t t = 0; t < kThreads; ++t) {
    const std::uint64_t made = counters[t].load();
    EXPECT_GE(found["w" + std::to_string(t)], made) << "finished spans lost";
    EXPECT_LE(found["w" + std::to_string(t)], made + 2) << "more than were made";
  }
  for (const std::uint32_t s : spans_named(trace, "work")) {
    ASSERT_EQ(parent_name(trace, s), "stage");
  }
}

void kill_at_random_instants(int rate) {
  for (int trial = 0; trial < trials(); ++trial) {
    const std::uint64_t seed = static_cast<std::uint64_t>(::getpid()) * 1000 +
                               static_cast<std::uint64_t>(base::realtime_ns() % 1'000'000'000);
    Random random(seed);
    const auto delay = std::chrono::microseconds(random.below(500'000));
    SCOPED_TRACE("rate " + std::to_string(rate) + ", killed after " +
                 std::to_string(delay.count()) + " us");
    const TempDir dir;
    SharedWords counters(dir / "counters", 512);
    Child child(dir, command(dir, rate, ""));
    wait_until_recording(counters);
    std::this_thread::sleep_for(delay);
    ::kill(child.pid(), SIGKILL);
    EXPECT_EQ(child.wait().signal, SIGKILL);
    const Trace trace = only_trace(dir);
    EXPECT_FALSE(trace.integrity.closed);
    EXPECT_FALSE(trace.integrity.in_progress);
    expect_nothing_lost(trace, counters);
  }
}

TEST(Kill, Minus9At200SpansASecond) { kill_at_random_instants(200); }
TEST(Kill, Minus9At100000SpansASecond) { kill_at_random_instants(100'000); }
TEST(Kill, Minus9At2000000SpansASecond) {
  kill_at_random_instants(kSanitized ? 200'000 : 2'000'000);
}

void ends_by_itself(const std::string& how, int signal) {
  const TempDir dir;
  SharedWords counters(dir / "counters", 512);
  Child child(dir, command(dir, 100'000, how));
  const Ended ended = child.wait();
  EXPECT_EQ(ended.signal, signal) << ended.err;
  if (signal == 0) {
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
  }
  expect_nothing_lost(only_trace(dir), counters);
}

TEST(Kill, Abort) { ends_by_itself("abort", SIGABRT); }
TEST(Kill, ExecOverTheProcess) { ends_by_itself("exec", 0); }
TEST(Kill, UnderscoreExit) { ends_by_itself("_exit", 0); }

TEST(Kill, SigtermByDefaultAndWithAHandlerThatExits) {
  for (const char* how : {"", "term"}) {
    // exit() frees memory, which tsan reports, rightly, as unsafe in a handler, and ends the
    // program.
    if (kThreadSanitizer && *how != '\0') continue;
    const TempDir dir;
    SharedWords counters(dir / "counters", 512);
    Child child(dir, command(dir, 100'000, how));
    wait_until_recording(counters);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(child.pid(), SIGTERM);
    const Ended ended = child.wait();
    EXPECT_EQ(ended.signal, *how == '\0' ? SIGTERM : 0);
    const Trace trace = only_trace(dir);
    if (*how == '\0') {
      expect_nothing_lost(trace, counters);
      continue;
    }
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    // exit() closes the trace while the threads go on: they count spans that came after the close.
    EXPECT_TRUE(trace.integrity.closed);
    EXPECT_EQ(trace.integrity.bad_words, 0u);
    EXPECT_EQ(trace.integrity.missing_chunks, 0u);
    EXPECT_GT(trace.spans.size(), 100u);
  }
}

// What a killed process left is folded into its trace by the first who reads it: the live file is
// gone, and the second reading gives the same.
TEST(Kill, ReadingFoldsTheBuffersIntoTheTrace) {
  const TempDir dir;
  SharedWords counters(dir / "counters", 512);
  Child child(dir, command(dir, 100'000, ""));
  wait_until_recording(counters);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto live = [&] {
    std::size_t n = 0;
    for (const auto& e : std::filesystem::directory_iterator(dir / "run")) {
      n += e.path().extension() == ".live" ? 1 : 0;
    }
    return n;
  };
  EXPECT_TRUE(only_trace(dir).integrity.in_progress);
  EXPECT_EQ(live(), 1u) << "not while its process lives";
  ::kill(child.pid(), SIGKILL);
  child.wait();
  const Trace first = only_trace(dir);
  EXPECT_EQ(live(), 0u);
  const Trace second = only_trace(dir);
  for (const Trace* trace : {&first, &second}) {
    EXPECT_FALSE(trace->integrity.closed);
    EXPECT_FALSE(trace->integrity.in_progress);
    EXPECT_GT(trace->integrity.recovered_chunks, 0u);
    expect_nothing_lost(*trace, counters);
  }
  EXPECT_EQ(second.spans.size(), first.spans.size());
  EXPECT_EQ(second.integrity.notes, first.integrity.notes);
}

}  // namespace
}  // namespace genscope::testing
