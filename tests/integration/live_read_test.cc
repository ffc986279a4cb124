// Reading a run while it grows: counts never go back, what is finished stays whole, and the last
// reading has everything.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

struct Counts {
  std::map<std::string, std::uint64_t> finished;
};

// What must hold at any instant.
Counts check_instant(const Trace& trace) {
  Counts counts;
  expect_sound(trace);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.bad_frames, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
  EXPECT_EQ(trace.integrity.clamped_ticks, 0u);
  std::map<std::string, std::uint64_t> open, next;
  for (std::size_t s = 0; s < trace.spans.size(); ++s) {
    const std::string& track = trace.tracks[trace.spans.track[s]].name;
    (finished(trace, s) ? counts.finished : open)[track]++;
    if (trace.span_name(s) == "inner") {
      EXPECT_EQ(parent_name(trace, static_cast<std::uint32_t>(s)), "outer");
    }
  }
  for (const auto& [track, n] : open) {
    if (track[0] == 'w') {
      EXPECT_LE(n, 2u) << track << ": at most the two spans that are open now";
    }
  }
  // The numbers of a thread's spans, without a hole.
  for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
    const std::uint32_t owner = trace.span_args.owner[a];
    const std::string& track = trace.tracks[trace.spans.track[owner]].name;
    const std::uint64_t expected = next[track]++;
    EXPECT_EQ(trace.span_args.bits[a], expected) << track;
    if (trace.span_args.bits[a] != expected) break;
  }
  return counts;
}

void read_while_recording(std::int64_t pause_ns, std::size_t readings, ClockChoice clock) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.clock = clock;
  std::atomic<bool> stop{false};
  std::vector<std::uint64_t> made(2, 0);
  {
    const Session session("live", options);
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < made.size(); ++t) {
      threads.emplace_back([&, t] {
        name_thread("w" + std::to_string(t));
        for (std::uint64_t n = 0; !stop; ++n) {
          {
            GENSCOPE_STAGE("outer", GENSCOPE_ARG("n", n));
            GENSCOPE_SPAN("inner");
          }
          made[t] += 2;
          if (pause_ns > 0) spin_ns(pause_ns);
        }
      });
    }
    Counts before;
    for (std::size_t i = 0; i < readings && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE("reading " + std::to_string(i));
      const Trace trace = only_trace(dir);
      EXPECT_FALSE(trace.integrity.closed);
      EXPECT_TRUE(trace.integrity.in_progress);
      Counts now = check_instant(trace);
      for (const auto& [track, n] : before.finished) EXPECT_GE(now.finished[track], n) << track;
      before = now;
      if (trace.spans.size() > 6'000'000) break;  // memory of the test machine
    }
    stop = true;
  }
  const Trace last = only_trace(dir);
  expect_whole(last);
  Counts counts = check_instant(last);
  for (std::size_t t = 0; t < made.size(); ++t) {
    EXPECT_EQ(counts.finished["w" + std::to_string(t)], made[t]);
  }
}

TEST(LiveRead, CountsNeverGoBack) { read_while_recording(1000, scaled(200) + 10, ClockChoice::automatic); }
TEST(LiveRead, FastProducers) { read_while_recording(0, scaled(60) + 10, ClockChoice::automatic); }
TEST(LiveRead, OnTheOsClock) { read_while_recording(1000, scaled(50) + 10, ClockChoice::os); }

TEST(LiveRead, AnotherProcessReadsWhatIsNotYetInTheFile) {
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
