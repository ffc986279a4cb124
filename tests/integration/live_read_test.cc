// Reading a run while it grows: counts never go back, what is finished stays whole, and the last
// reading has everything.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

using Finished = std::map<std::string, std::uint64_t>;  // spans by thread

// What must hold at any instant.
Finished check_instant(const Trace& trace) {
  expect_sound(trace);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.bad_frames, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
  EXPECT_EQ(trace.integrity.clamped_ticks, 0u);
  const bool all = total_dropped_spans(trace) == 0;  // nothing dropped: no holes either
  Finished done;
  std::map<std::string, std::uint64_t> open, next;
  std::uint64_t orphans = 0;
  for (std::uint32_t s = 0; s < trace.spans.size(); ++s) {
    const std::string& track = trace.tracks[trace.spans.track[s]].name;
    (finished(trace, s) ? done : open)[track]++;
    orphans += trace.span_name(s) == "inner" && parent_name(trace, s) != "outer" ? 1 : 0;
  }
  EXPECT_TRUE(!all || orphans == 0) << orphans;
  for (const auto& [track, n] : open) {
    if (track[0] == 'w') {
      EXPECT_LE(n, 2u) << track << ": more than the two spans that are open now";
    }
  }
  // The numbers of a thread's spans ascend, without a hole.
  for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
    const std::string& track = trace.tracks[trace.spans.track[trace.span_args.owner[a]]].name;
    const std::uint64_t n = trace.span_args.bits[a];
    if (n < next[track] || (all && n > next[track])) {
      ADD_FAILURE() << track << ": " << n << " instead of " << next[track];
      break;
    }
    next[track] = n + 1;
  }
  return done;
}

constexpr std::uint64_t kMostSpans = 100'000;

// One session of two threads, read again and again.
void read_while_recording(std::int64_t pause_ns, std::size_t readings, SessionOptions options) {
  const TempDir dir;
  options.run_dir = dir / "run";
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> made(2, 0);
  {
    const Session session("live", options);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < made.size(); ++t) {
      threads.emplace_back([&, t] {
        name_thread("w" + std::to_string(t));
        for (std::uint64_t n = 0; !stop; ++n) {
          // Enough to keep the reader in trouble; more would only make each reading longer.
          if (n >= kMostSpans) {
            ::usleep(1000);
            continue;
          }
          {
            GENSCOPE_STAGE("outer", GENSCOPE_ARG("n", n));
            GENSCOPE_SPAN("inner");
          }
          made[t] += 2;
          if (pause_ns > 0) spin_ns(pause_ns);
        }
      });
    }
    Finished before;
    for (std::size_t i = 0; i < readings && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("reading " + std::to_string(i));
      const Trace trace = only_trace(dir);
      EXPECT_FALSE(trace.integrity.closed);
      EXPECT_TRUE(trace.integrity.in_progress);
      Finished now = check_instant(trace);
      for (const auto& [track, n] : before) EXPECT_GE(now[track], n) << track;
      before = now;
    }
    stop = true;
  }
  const Trace last = only_trace(dir);
  EXPECT_TRUE(last.integrity.closed);
  EXPECT_EQ(last.integrity.unfinished_spans, 0u);
  Finished done = check_instant(last);
  for (const TrackInfo& t : last.tracks) done[t.name] += t.dropped_spans;
  for (std::size_t t = 0; t < made.size(); ++t) {
    EXPECT_EQ(done["w" + std::to_string(t)], made[t]);
  }
}

// Short sessions, so that readings are many and each is quick.
void read_sessions(std::int64_t pause_ns, SessionOptions options) {
  for (std::size_t i = 0; i < scaled(6); ++i) {
    read_while_recording(pause_ns, 6, options);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(LiveRead, CountsNeverGoBack) { read_sessions(1000, {}); }
TEST(LiveRead, FastProducers) { read_sessions(0, {}); }
TEST(LiveRead, SmallBuffersThatAreRecycledMeanwhile) {
  SessionOptions options;
  options.buffer_bytes = 2 << 20;
  read_sessions(500, options);
}
TEST(LiveRead, OnTheOsClockNotPacked) {
  SessionOptions options;
  options.clock = ClockChoice::os;
  options.pack = false;
  read_sessions(1000, options);
}

TEST(LiveRead, AnotherProcessReadsWhatIsNotYetInTheFile) {
  if (kAddressSanitizer) GTEST_SKIP() << kNoForkUnderAsan;
  const TempDir dir;
  const Session session("live", options_in(dir));
  { const Stage stage("just now"); }
  const int code = in_child([&] {
    const auto run = read_run(dir / "run");
    if (!run.ok()) return 1;
    return spans_named(run->traces.front(), "just now").size() == 1 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace genscope::testing
