// N threads with known busy loops: each total is what the thread itself measured, and no thread
// is charged with another's time.
#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

void busy_threads(std::size_t threads, ClockChoice clock) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.clock = clock;
  constexpr int kLoops = 20;
  std::vector<Bounds> measured(threads);
  std::vector<std::uint32_t> tids(threads, 0);
  {
    const Session session("threads", options);
    ASSERT_TRUE(session.active()) << session.error();
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        const std::string name = "work-" + std::to_string(t);
        tids[t] = static_cast<std::uint32_t>(::gettid());
        { const Stage warm("warm"); }
        for (int i = 0; i < kLoops; ++i) {
          const std::int64_t begin = base::monotonic_ns();
          {
            const Stage stage(name);
            const std::int64_t within = base::monotonic_ns();
            spin_ns(static_cast<std::int64_t>(t + 1) * 1'000'000);
            measured[t].inner_ns += base::monotonic_ns() - within;
          }
          measured[t].outer_ns += base::monotonic_ns() - begin;
        }
      });
    }
    for (std::thread& t : all) t.join();
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  for (std::size_t t = 0; t < threads; ++t) {
    const auto spans = spans_named(trace, "work-" + std::to_string(t));
    ASSERT_EQ(spans.size(), kLoops);
    std::int64_t total = 0;
    for (const std::uint32_t s : spans) {
      total += trace.spans.duration_ns[s];
      EXPECT_EQ(trace.tracks[trace.spans.track[s]].tid, tids[t]) << "mixed between threads";
      EXPECT_EQ(trace.spans.parent[s], kNone);
    }
    SCOPED_TRACE(t);
    expect_same_time(total, measured[t]);
  }
}

TEST(Threads, TotalsAgreeWithEachThreadsOwnClock) { busy_threads(6, ClockChoice::automatic); }
TEST(Threads, TotalsAgreeOnTheOsClockToo) { busy_threads(6, ClockChoice::os); }

// Same name everywhere: rows must not be merged across threads in the trace.
TEST(Threads, SameNameOnManyThreadsStaysApart) {
  const TempDir dir;
  constexpr std::size_t kThreads = 8;
  const std::size_t each = scaled(20'000);
  {
    const Session session("same", options_in(dir));
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < kThreads; ++t) {
      all.emplace_back([&, t] {
        name_thread("t" + std::to_string(t));
        for (std::size_t i = 0; i < each + t; ++i) {
          GENSCOPE_STAGE("outer");
          GENSCOPE_SPAN("inner", GENSCOPE_ARG("thread", t));
        }
      });
    }
    for (std::thread& t : all) t.join();
  }
  const Trace trace = only_trace(dir);
  expect_whole(trace);
  std::map<std::string, std::size_t> outer, inner;
  for (std::uint32_t s = 0; s < trace.spans.size(); ++s) {
    const std::string& track = trace.tracks[trace.spans.track[s]].name;
    if (trace.span_name(s) == "outer") outer[track]++;
    if (trace.span_name(s) != "inner") continue;
    inner[track]++;
    ASSERT_EQ(parent_name(trace, s), "outer");
    ASSERT_EQ(trace.spans.track[trace.spans.parent[s]], trace.spans.track[s]);
  }
  for (std::size_t t = 0; t < kThreads; ++t) {
    EXPECT_EQ(outer["t" + std::to_string(t)], each + t);
    EXPECT_EQ(inner["t" + std::to_string(t)], each + t);
  }
  for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
    const std::uint32_t track = trace.spans.track[trace.span_args.owner[a]];
    ASSERT_EQ(trace.tracks[track].name, "t" + std::to_string(trace.span_args.bits[a]));
  }
}

}  // namespace
}  // namespace genscope::testing
