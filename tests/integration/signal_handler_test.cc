// Signal handlers that record while their thread records: no deadlock, no crash, and the
// interrupted spans are all there and whole. What a handler records at a bad moment is dropped.
#include <signal.h>
#include <sys/time.h>

#include <thread>

#include "support.h"

namespace genscope::testing {
namespace {

std::atomic<std::uint64_t> g_handled{0};

void record_in_handler(int) {
  const int saved = errno;
  {
    const Stage stage("handler", {{"n", g_handled.load()}});
    GENSCOPE_SPAN("static handler");
    if (g_handled % 4 == 0) event("handler event");
    if (g_handled % 4 == 1) counter("handler counter", 1);
    if (g_handled % 4 == 2) end(begin(SpanKind::request, "handler request"));
  }
  g_handled++;
  errno = saved;
}

class Handler {
 public:
  explicit Handler(int signal) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = record_in_handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(signal, &action, &old_);
  }
  ~Handler() { ::sigaction(signal_, &old_, nullptr); }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  int signal_;
  struct sigaction old_ {};
};

// The spans of the main loop, each with its number, nested as written.
std::uint64_t main_loop(std::int64_t for_ns, bool slow_path) {
  // So many fit into the buffers once these have grown, which takes the drain thread a moment.
  constexpr std::uint64_t kMost = 500'000;
  const std::int64_t until = base::monotonic_ns() + for_ns;
  std::uint64_t n = 0;
  for (; n < kMost && base::monotonic_ns() < until; ++n) {
    if (slow_path) {
      const Stage outer("outer", {{"n", n}});
      const Span inner(SpanKind::function, "inner", {{"text", "t"}});
    } else {
      GENSCOPE_STAGE("outer", GENSCOPE_ARG("n", n));
      GENSCOPE_SPAN("inner");
    }
  }
  return n;
}

std::uint64_t told_spans(const Trace& trace) {
  std::uint64_t told = 0;
  for (const TrackInfo& track : trace.tracks) told += track.dropped_spans;
  return told;
}

std::uint64_t told_records(const Trace& trace) {
  std::uint64_t told = 0;
  for (const TrackInfo& track : trace.tracks) told += track.dropped_records;
  return told;
}

// Nothing is missing but what the trace says was dropped for want of room: that happens where other
// programs keep the drain thread from running for longer than a burst is made to wait for it.
void expect_main_loop_whole(const Trace& trace, std::uint64_t made) {
  expect_sound(trace);
  EXPECT_TRUE(trace.integrity.closed);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.unfinished_spans, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
  const std::uint64_t told = told_spans(trace);
  const auto outer = spans_named(trace, "outer");
  const auto inner = spans_named(trace, "inner");
  EXPECT_LE(outer.size(), made);
  EXPECT_LE(inner.size(), made);
  EXPECT_LE(2 * made - outer.size() - inner.size(), told);
  std::uint64_t wrong_parent = 0, wrong_number = 0, n = 0;
  for (const std::uint32_t s : inner) wrong_parent += parent_name(trace, s) != "outer" ? 1 : 0;
  for (std::size_t a = 0; a < trace.span_args.size(); ++a) {
    if (trace.span_name(trace.span_args.owner[a]) != "outer") continue;
    wrong_number += trace.span_args.bits[a] < n ? 1 : 0;  // skips those of dropped spans, no others
    n = trace.span_args.bits[a] + 1;
  }
  EXPECT_LE(wrong_parent, told);
  EXPECT_EQ(wrong_number, 0u);
  EXPECT_LE(n, made);
  const std::int64_t wall = trace.end_ns - trace.begin_ns;
  for (const std::uint32_t s : outer) ASSERT_LE(trace.spans.duration_ns[s], wall);
}

void under_signals(bool slow_path, ClockChoice clock) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.clock = clock;
  std::uint64_t made = 0;
  g_handled = 0;
  {
    const Handler handler(SIGUSR1);
    const Session session("signals", options);
    std::atomic<bool> stop{false};
    const pthread_t self = ::pthread_self();
    // As fast as they can be delivered, at every possible instruction.
    std::thread sender([&] {
      while (!stop) {
        ::pthread_kill(self, SIGUSR1);
        for (int i = 0; i < 50; ++i) __builtin_ia32_pause();
      }
    });
    made = main_loop(kSanitized ? 1'000'000'000 : 2'000'000'000, slow_path);
    stop = true;
    sender.join();
  }
  EXPECT_GT(g_handled.load(), 0u);  // on a busy machine, few get through
  ::testing::Test::RecordProperty("signals", std::to_string(g_handled.load()));
  expect_main_loop_whole(only_trace(dir), made);
}

// Detached spans, events and counters: each is whole, and a span ends where its end was.
void detached_under_signals(ClockChoice clock) {
  const TempDir dir;
  SessionOptions options = options_in(dir);
  options.clock = clock;
  constexpr std::uint64_t kMost = 300'000;
  std::uint64_t made = 0;
  g_handled = 0;
  {
    static constinit Site site{"main request", SpanKind::request, {0}};
    const Handler handler(SIGUSR1);
    const Session session("signals", options);
    std::atomic<bool> stop{false};
    const pthread_t self = ::pthread_self();
    std::thread sender([&] {
      while (!stop) {
        ::pthread_kill(self, SIGUSR1);
        for (int i = 0; i < 50; ++i) __builtin_ia32_pause();
      }
    });
    const std::int64_t until = base::monotonic_ns() + 1'000'000'000;
    for (; made < kMost && base::monotonic_ns() < until; ++made) {
      const Handle request = begin(site);
      GENSCOPE_COUNTER("main counter", static_cast<double>(made));
      GENSCOPE_EVENT("main event");
      end(request);
    }
    stop = true;
    sender.join();
  }
  EXPECT_GT(g_handled.load(), 0u);  // on a busy machine, few get through
  const Trace trace = only_trace(dir);
  expect_sound(trace);
  EXPECT_EQ(trace.integrity.bad_words, 0u);
  EXPECT_EQ(trace.integrity.unfinished_spans, 0u);
  EXPECT_EQ(trace.integrity.missing_chunks, 0u);
  const std::size_t requests = spans_named(trace, "main request").size();
  EXPECT_LE(requests, made);
  EXPECT_LE(made - requests, told_spans(trace));
  std::uint64_t counted = 0, wrong = 0, events = 0;
  double next = 0;
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    if (trace.names[trace.counters.name[i]].text != "main counter") continue;
    wrong += trace.counters.value[i] < next ? 1 : 0;  // skips dropped ones, no others
    next = trace.counters.value[i] + 1;
    counted++;
  }
  for (const std::uint32_t name : trace.events.name) {
    events += trace.names[name].text == "main event" ? 1 : 0;
  }
  EXPECT_LE(counted, made);
  EXPECT_LE(events, made);
  EXPECT_LE(2 * made - counted - events, told_records(trace));
  EXPECT_EQ(wrong, 0u);
}

TEST(SignalHandler, HammersDetachedSpans) { detached_under_signals(ClockChoice::automatic); }
TEST(SignalHandler, HammersDetachedSpansOnTheOsClock) { detached_under_signals(ClockChoice::os); }

TEST(SignalHandler, HammersTheInlinePath) { under_signals(false, ClockChoice::automatic); }
TEST(SignalHandler, HammersTheSlowPath) { under_signals(true, ClockChoice::automatic); }
TEST(SignalHandler, HammersTheOsClockPath) { under_signals(false, ClockChoice::os); }

TEST(SignalHandler, AProfilingTimerMayRecord) {
  const TempDir dir;
  std::uint64_t made = 0;
  {
    const Handler handler(SIGPROF);
    const Session session("timer", options_in(dir));
    const itimerval every{{0, 500}, {0, 500}};
    ::setitimer(ITIMER_PROF, &every, nullptr);
    made = main_loop(kSanitized ? 500'000'000 : 1'000'000'000, false);
    const itimerval off{};
    ::setitimer(ITIMER_PROF, &off, nullptr);
  }
  expect_main_loop_whole(only_trace(dir), made);
}

// The handler may be the first thing that a thread records, or hit a session being opened.
TEST(SignalHandler, WhileSessionsOpenAndCloseAndThreadsStart) {
  const TempDir dir;
  const Handler handler(SIGUSR1);
  std::atomic<bool> stop{false};
  const pthread_t self = ::pthread_self();
  std::thread sender([&] {
    while (!stop) {
      ::pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  });
  for (std::size_t i = 0; i < scaled(50); ++i) {
    SessionOptions options = options_in(dir);
    options.buffer_bytes = 1 << 20;
    const Session session("s", options);
    std::thread([] { const Stage stage("thread"); }).join();
    const Stage stage("main");
  }
  stop = true;
  sender.join();
  const auto run = read_run(dir / "run");
  ASSERT_TRUE(run.ok());
  for (const Trace& t : run->traces) {
    expect_sound(t);
    EXPECT_TRUE(t.integrity.closed);
    EXPECT_EQ(t.integrity.bad_words, 0u);
    EXPECT_EQ(spans_named(t, "main").size(), 1u);
    EXPECT_EQ(spans_named(t, "thread").size(), 1u);
  }
}

}  // namespace
}  // namespace genscope::testing
